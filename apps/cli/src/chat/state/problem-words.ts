/** What went wrong with a request, in words for people. */
const words: ReadonlyMap<string, string> = new Map([
  ['network', 'the provider could not be reached'],
  ['overloaded', 'the provider has too much to do'],
  ['rate_limit', 'the provider asks to slow down'],
  ['server', 'the provider had an error'],
  ['timeout', 'the provider took too long'],
  ['truncated_stream', 'the answer broke off'],
  ['protocol_error', 'the answer could not be read'],
  ['history_rejected', 'the provider did not take what was thought before'],
  ['interrupted', 'the program that ran this ended'],
]);

export function problemWords(code: string): string {
  return words.get(code) ?? code;
}
