"""What every floor stands on: types, errors, settings, ports, ledger, language-model client."""
