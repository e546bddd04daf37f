"""Face recognition in cameras, videos and folders of pictures."""
