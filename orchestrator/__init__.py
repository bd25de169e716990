"""What makes a campaign happen: the run of its trials, calibration, generators, and the testbeds that they run on."""
