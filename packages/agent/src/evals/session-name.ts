const hashForm = /^[0-9a-f]{16}(?:~\d{1,3})?$/;

/**
 * Returns a name for a session of an experiment: for its results, a run, or the vote of a judge. Returns undefined
 * for all other sessions.
 *
 * @example
 * experimentSessionName('eval/refunds/brief/late/1/0123456789abcdef'); // 'refunds: brief, late, run 1'
 */
export function experimentSessionName(session: string): string | undefined {
  const [root, experiment, variant, ...place] = session.split('/');
  if (root !== 'eval' || !experiment) return undefined;
  if (variant === undefined) return `Experiment ${experiment}`;
  // The id of a case can contain slashes, so the fixed parts are read from the end.
  const isVote = place.length >= 6 && hashForm.test(place.at(-2) ?? '');
  const run = isVote ? place.slice(0, -3) : place;
  const [repeat, hash] = run.slice(-2);
  if (run.length < 3 || !hashForm.test(hash ?? '')) return undefined;
  const name = `${experiment}: ${variant}, ${run.slice(0, -2).join('/')}, run ${repeat}`;
  return isVote ? `${name}, vote ${place.at(-1)} of ${place.at(-3)}` : name;
}
