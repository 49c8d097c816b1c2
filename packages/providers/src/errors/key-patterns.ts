// In front of a key there is no letter or digit, unless they are the end of an escape: `\nsk-…`.
const start = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))`;

/** What stands in front is looked at last: asking it of every letter first would take long. */
const key = (prefix: string, rest: string): RegExp =>
  new RegExp(`${prefix}(?<=${start}${prefix})${rest}`, 'g');

/**
 * What API keys and tokens look like, whoever's they are: rather one too many than one too few.
 * Where a pattern has a group, the secret is that group, which stands at the end.
 */
export const keyPatterns: readonly RegExp[] = [
  key('(?:sk|pk|rk|gsk|csk|xai|pplx|nvapi|hf|r8|gh[opsu]|github_pat)[-_]', '[A-Za-z0-9_-]{8,}'),
  key('AIza', '[A-Za-z0-9_-]{16,}'),
  key(String.raw`ya29\.`, '[A-Za-z0-9_-]{16,}'),
  key('A[KS]IA', '[A-Z0-9]{16}'),
  // A JSON web token: three parts, the first of which starts with `{"`.
  key('eyJ', String.raw`[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){2}`),
  /bearer(?:\s|\+|%20){1,8}((?:[A-Za-z0-9._~+-]|\\{0,16}\/|%2[BbFf]){8,}(?:=|%3[Dd])*)/gi,
];
