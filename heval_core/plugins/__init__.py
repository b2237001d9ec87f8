"""What plug-ins declare, and how they are found."""
