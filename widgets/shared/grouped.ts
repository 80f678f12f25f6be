// Values by a key that they have in common, in the order in which keys first come.

export function groupedBy<Key, Value>(values: Iterable<Value>, key: (value: Value) => Key): Map<Key, Value[]> {
  const found = new Map<Key, Value[]>();
  for (const value of values) {
    const known = found.get(key(value));
    if (known) known.push(value);
    else found.set(key(value), [value]);
  }
  return found;
}
