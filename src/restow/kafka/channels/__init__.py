"""How each role speaks over restow's topics: the controller, a consumer, and readers of the service topic."""
