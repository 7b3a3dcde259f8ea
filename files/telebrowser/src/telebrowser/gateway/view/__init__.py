"""Views: how a person sees a project's browser and works in it."""
