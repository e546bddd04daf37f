"""The service: durable learners over HTTP, with a journal of all commands."""
