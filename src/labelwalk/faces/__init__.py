"""Faces, from frames to names: who is seen by a camera, or in a video or a folder of pictures."""
