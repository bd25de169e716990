"""The parts of the store beside results, each a class of its own on the same transactions."""

from functools import cached_property

from rackproof.store.accounts import Accounts
from rackproof.store.audit import AuditTrail
from rackproof.store.browse import Browse
from rackproof.store.deliveries import Deliveries
from rackproof.store.devices import Devices
from rackproof.store.elsewhere import Elsewhere
from rackproof.store.inventories import Inventories
from rackproof.store.jobs import Jobs
from rackproof.store.queue import Queue
from rackproof.store.reports import Reports
from rackproof.store.reservations import Reservations
from rackproof.store.retention import Retention
from rackproof.store.schedules import Schedules
from rackproof.store.testbeds import Testbeds
from rackproof.store.transactions import Transactions
from rackproof.store.trends import Trends
from rackproof.store.workers import Workers


class Desks:
    """What a Store offers beside the results of campaigns; `with store.transactions.together(...)` makes several writes one."""

    transactions: Transactions

    @cached_property
    def queue(self) -> Queue:
        return Queue(self.transactions)

    @cached_property
    def workers(self) -> Workers:
        return Workers(self.transactions)

    @cached_property
    def testbeds(self) -> Testbeds:
        return Testbeds(self.transactions)

    @cached_property
    def inventories(self) -> Inventories:
        return Inventories(self.transactions)

    @cached_property
    def devices(self) -> Devices:
        return Devices(self.transactions)

    @cached_property
    def reservations(self) -> Reservations:
        return Reservations(self.transactions)

    @cached_property
    def accounts(self) -> Accounts:
        return Accounts(self.transactions)

    @cached_property
    def audit(self) -> AuditTrail:
        return AuditTrail(self.transactions)

    @cached_property
    def schedules(self) -> Schedules:
        return Schedules(self.transactions)

    @cached_property
    def deliveries(self) -> Deliveries:
        return Deliveries(self.transactions)

    @cached_property
    def trends(self) -> Trends:
        return Trends(self.transactions)

    @cached_property
    def retention(self) -> Retention:
        return Retention(self.transactions)

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self.transactions)

    @cached_property
    def reports(self) -> Reports:
        return Reports(self.transactions)

    @cached_property
    def browse(self) -> Browse:
        return Browse(self.transactions)

    @cached_property
    def elsewhere(self) -> Elsewhere:
        return Elsewhere(self.transactions)
