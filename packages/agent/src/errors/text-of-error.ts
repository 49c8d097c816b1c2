/** What an error says, whatever was thrown. */
export function textOfError(error: unknown): string {
  try {
    const text: unknown = error instanceof Error ? error.message : String(error);
    return typeof text === 'string' && text !== '' ? text.toWellFormed() : silent;
  } catch {
    return silent;
  }
}

const silent = 'It failed without saying why.';
