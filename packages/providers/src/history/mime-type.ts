/** The type without its parameters, in small letters. */
export function essenceOf(mimeType: string): string {
  return mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** As providers write it. Only the parameters of sound say anything that is not in the bytes. */
export function properType(mimeType: string): string {
  const essence = essenceOf(mimeType);
  if (essence.startsWith('audio/')) return mimeType;
  return essence === 'image/jpg' ? 'image/jpeg' : essence;
}
