"""How the first account is made: with a code that the service printed where only its owner reads it."""

from fastapi import APIRouter, Request, Response

from api.accounts.refusals import refusing
from api.accounts.schemas import SessionGiven, SetUp, SetupGiven
from api.accounts.session import begin_session, given
from api.identity import GuardedRoute, open_to_all
from api.problems import Refusal, responses
from api.trust import address_of, check_origin
from api.wiring import TheStore
from rackproof.errors import NotFound

router = APIRouter(prefix="/setup", tags=["session"], route_class=GuardedRoute, dependencies=[open_to_all])


@router.get("", responses=responses())
def get_setup(store: TheStore) -> SetupGiven:
    """Whether the first account is still to be made."""
    return SetupGiven(needed=store.accounts.is_empty())


@router.post("", status_code=201, responses=responses(403))
def set_up(request: Request, response: Response, store: TheStore, asked: SetUp) -> SessionGiven:
    """Make the first account, an admin, and sign in. Works once, and only while there is no user."""
    check_origin(request)
    with refusing(), store.transactions.together("the first account could not be made"):
        try:
            user = store.accounts.set_up(code=asked.code.get_secret_value(), name=asked.name, password=asked.password.get_secret_value())
        except NotFound as error:
            raise Refusal(403, str(error), kind="setup-code") from None
        session = begin_session(store, request, response, user)
        store.audit.record(user=user, user_name=user.name, action="user.setup", target=f"user:{user.id}", address=address_of(request))
    return given(user, session)
