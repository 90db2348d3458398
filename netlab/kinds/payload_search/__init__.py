"""The kind of test ``payload_search``: the most payload of one frame, and the path's MTU."""
