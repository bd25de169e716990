"""The kinds of plan, one folder each: parameters, expansion, procedure, ideal model, analysis, report sections, method."""
