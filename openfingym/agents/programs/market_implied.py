"""The market's own probability: what everybody can read off the price, and what a forecaster has to beat."""

import interface

contract = interface.contract
place = contract["channels"].index("price")
interface.predict_each(lambda asked: asked[:, place].clip(contract["low"], contract["high"]))
