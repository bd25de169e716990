"""Label switching routers while LSPs flap, after the experiments on separation of control and forwarding planes with M10 routers."""

from testplans.kind import Kind
from testplans.mpls_flap.kind import MplsFlap

KIND: Kind = MplsFlap()
