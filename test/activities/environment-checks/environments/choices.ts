/**
 * Edits that add choices to the post office (`fixtures/post_office.py`) and to a good environment for it
 * (`good/replaying_class.py`): whether a parcel goes by express, and in which box. Customers of both name their parcel
 * by its reference.
 */
type Edits = [passage: string, instead: string][];

export const OFFICE_WITH_CHOICES: Edits = [
  [
    `{"parcel": parcel, "stamps": stamps})`,
    '{"parcel": parcel, "stamps": stamps, "express": {"type": "boolean"}, "box": {"type": "string", "enum": ' +
      '["letter", "packet", "crate"]}})',
  ],
  [
    `            "country": rng.choice(sorted(COUNTRIES)),`,
    `            "country": rng.choice(sorted(COUNTRIES)),\n            "express": rng.random() < 0.5,`,
  ],
  [
    `i would like to post parcel {self.task['parcel']}{where}"`,
    `i would like to post a parcel, reference: {self.task['parcel']}{where}"`,
  ],
  [
    `        return {"observation": json.dumps({"parcel": given["parcel"], "sent": True}), "done": False}`,
    `        if given.get("box") != _box(self.task):
            return {"observation": json.dumps({"error": "it goes into another box"}), "done": False}
        return {"observation": json.dumps({"parcel": given["parcel"], "sent": True}), "done": False}`,
  ],
  [
    `class Environment:`,
    `def _box(task):\n    return "letter" if task["grams"] < 500 else "packet" if task["grams"] < 1200 else ` +
      `"crate"\n\n\nclass Environment:`,
  ],
  [
    `"arguments": {"parcel": task["parcel"], "stamps": stamps}}`,
    `"arguments": {"parcel": task["parcel"], "stamps": stamps, "express": task["express"], "box": _box(task)}}`,
  ],
];

export const GOOD_WITH_CHOICES: Edits = [
  [
    `"send": {"parcel": text, "stamps": whole}`,
    '"send": {"parcel": text, "stamps": whole, "express": {"type": "boolean"}, "box": {"type": "string", ' +
      '"enum": ["letter", "packet", "crate"]}}',
  ],
  [`            "skill_calls": [1],`, `            "express": rng.random() < 0.5,\n            "skill_calls": [1],`],
  [
    `please post parcel {task['parcel']}"`,
    `please post a parcel{' by express' if task['express'] else ''}, reference: {task['parcel']}"`,
  ],
  // What is answered to a wrong box are the boxes that there are, and to a parcel that was not to go by express: sent,
  // true.
  [
    `        if self.sent is None:
            self.sent = (given["stamps"], self.weighed)`,
    `        if given.get("box") != _box(self.task):
            return _say(error="that is not the box for it; boxes are letter, packet and crate")
        if self.sent is None:
            self.sent = (given["stamps"] if given.get("express") is self.task["express"] else None, self.weighed)`,
  ],
  [
    `def _stamps(task):`,
    `def _box(task):\n    return "letter" if task["grams"] < 500 else "packet" if task["grams"] < 1200 else ` +
      `"crate"\n\n\ndef _stamps(task):`,
  ],
  [`"stamps": _stamps(task)}}`, `"stamps": _stamps(task), "express": task["express"], "box": _box(task)}}`],
];
