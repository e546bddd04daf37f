"""Speaking to the service from Python: patient where it is busy, and nothing is done twice."""

from labelwalk.client.calls import Answers, Question, ServiceError
from labelwalk.client.clients import AsyncClient, Client

__all__ = ["Answers", "AsyncClient", "Client", "Question", "ServiceError"]
