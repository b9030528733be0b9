"""CRAG's recipe: questions from templates over a table, each answer computed; pages from one's own documents."""

from .recipe import RECIPE as RECIPE
