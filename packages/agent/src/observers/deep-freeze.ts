/** Freezes a value and all that it holds, so that whoever changes a part of it throws. */
export function deepFreeze<T>(value: T): T {
  // Bytes cannot be frozen.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
