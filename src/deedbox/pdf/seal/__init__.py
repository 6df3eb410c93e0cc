"""Write seals: PAdES signatures, time-stamps, and the CMS structures that they consist of."""
