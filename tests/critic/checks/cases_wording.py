"""Cases of the checks on how a reader is spoken to, and on quantities: (options, answer, value)."""

from tests.critic.checks.table import Table

WORDING: Table = {
    "imperatives": [
        ({"min": 3, "max": 3}, "Add the salt. Please wait. Don't stir.", 1.0),
        ({"max": 0}, "I add salt. You wait. He does not stir.", 1.0),
        ({"max": 0}, "Thank you. Let's go. Let us pray. Welcome home. Let me see.", 0.0),  # Let me see.
        ({"max": 0}, "Thank you. Let's go. Let us pray. Welcome home.", 1.0),
        ({"max": 0}, "Have you eaten? Do you know her? Take one?", 1.0),
        ({"min": 1}, "Have a nice day!", 1.0),
        ({"max": 0}, "Water is wet. Work was hard. Practice of this kind helps. Help is near. Change came.", 1.0),
        ({"min": 2, "max": 2}, "Water the plants. Practice on Sundays.", 1.0),
        ({"min": 3, "max": 3}, "1. Preheat the oven.\n2. Then mix the eggs.\n3. Do not open it.", 1.0),
        ({"min": 2, "soft": 2}, "Never give up. It rained.", 0.5),
        ({"max": 0}, '"Come in!" she said.', 1.0),
        ({"min": 1}, "", 0.0),
    ],
    "transitions": [
        ({"min": 0.5}, "It rained. However, we went out.", 1.0),
        ({"min": 1.0, "soft": 1.0}, "It rained. However, we went out.", 0.5),
        ({"max": 0}, "It rained. We went out.", 1.0),
        ({"min": 1.0}, "Zum Beispiel regnete es. Deshalb blieben wir. Trotzdem kam er.", 1.0),
        ({"min": 1.0}, "Sin embargo, llovía. Por eso no fuimos.", 1.0),
        ({"min": 1.0}, "D'abord il a plu. Ensuite nous sommes sortis.", 1.0),
        ({"min": 1.0}, "그러나 비가 왔다. 그래서 우리는 집에 있었다.", 1.0),
        ({"min": 1.0}, "首先，下雨了。因此我们没有出去。", 1.0),
        ({"min": 1.0}, "しかし雨が降った。だから家にいた。", 1.0),
        ({"min": 0.5, "max": 0.5}, "However, on the other hand, it rained. We went out.", 1.0),
        ({"min": 0.1}, "", 0.0),
    ],
    "register": [
        ({}, "The committee has examined the matter and will report in due course.", 1.0),
        ({}, "Hey, it's gonna be awesome! 🎉", 0.0),  # hey, it's, gonna, awesome, !, emoji
        ({"per": 8}, "Hey, it's gonna be awesome! 🎉", 0.25),
        ({"wanted": "casual", "per": 8}, "Hey, it's gonna be awesome! 🎉", 0.75),
        ({"wanted": "casual"}, "The committee will report in due course.", 0.0),
        ({"per": 4}, "I don't know whether Anna's car is hers.", 0.75),  # don't, not Anna's
        ({"per": 2}, "Wait!!!", 0.5),
        ({}, "", 1.0),
    ],
    "address": [
        ({"language": "de"}, "Bitte geben Sie Ihre Nummer an.", 1.0),
        ({"language": "de"}, "Gib bitte deine Nummer an, wenn du magst.", 0.0),
        ({"language": "de", "wanted": "familiar"}, "Gib bitte deine Nummer an, wenn du magst.", 1.0),
        ({"language": "de"}, "Wenn Sie wollen, kannst du gehen.", 1 / 3),
        ({"language": "de", "wanted": "familiar", "none": 0.5}, "Sie kam spät. Sie hat ihre Tasche vergessen.", 0.5),
        ({"language": "es"}, "¿Cómo está usted?", 1.0),
        ({"language": "es"}, "¿Tú tienes tiempo?", 0.0),
        ({"language": "fr"}, "Voulez-vous votre café ?", 1.0),
        ({"language": "fr"}, "Je t'attends, prends ton sac.", 0.0),
        ({"language": "fr", "none": 0.0}, "Il pleut.", 0.0),
        ({"language": "de"}, "", 1.0),
    ],
    "units": [
        ({"min": 3, "max": 3}, "It is 5 km away, 3.5 kg heavy and 20 °C warm.", 1.0),
        ({"system": "imperial", "max": 0}, "It is 5 km away, 3.5 kg heavy and 20 °C warm.", 1.0),
        ({"system": "metric", "max": 0}, "It is 5 miles away, 3 lbs heavy and 70°F warm, 6 ft tall, 2 cups.", 1.0),
        ({"system": "imperial", "min": 5, "max": 5}, "It is 5 miles away, 3 lbs heavy, 70°F, 6 ft tall, 2 cups.", 1.0),
        ({"max": 0}, "There were 5 members, 10 people, 3 men and 20 goats at 7 in the morning.", 1.0),
        ({"min": 2, "max": 2}, "Cut it at 5 in. from the end, in a 10-inch pan.", 1.0),
        ({"min": 2, "max": 2}, "Add 1 ½ cups of milk and 250ml of cream.", 1.0),
        ({"max": 0}, "It costs $5, or 10%, at 5:30. Read p. 3 and §4.", 1.0),
        ({"min": 2, "max": 2}, "A 1,500 m run at 12 km/h.", 1.0),
        ({"min": 1, "max": 1}, "The flat has 60 m² and three rooms.", 1.0),
        ({"min": 2, "soft": 2}, "One 5 kg bag.", 0.5),
        ({"min": 1}, "", 0.0),
    ],
}
