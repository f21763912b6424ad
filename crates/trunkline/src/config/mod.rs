//! Where servers are configured: entries, variables, files and the trust in them.
