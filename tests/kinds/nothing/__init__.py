"""Nothing: a kind of plan whose procedure does nothing, for tests of everything around it."""

from testplans.kind import Kind

from .kind import Nothing

KIND: Kind = Nothing()
