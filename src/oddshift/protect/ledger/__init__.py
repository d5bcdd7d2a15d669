"""The ledger: which records were released with a policy, in the policy's folder or elsewhere."""
