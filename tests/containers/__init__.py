"""The browser and gateway containers on a real Docker Engine, started by hand-written arguments as the roles start them."""
