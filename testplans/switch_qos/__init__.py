"""Switch QoS: how a switch schedules priorities, after Beuran, Ivanovici, Davies, Dobinson 2004."""

from testplans.kind import Kind
from testplans.switch_qos.kind import SwitchQos

KIND: Kind = SwitchQos()
