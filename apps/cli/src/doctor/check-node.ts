import type { Check } from './finding.ts';

/** What package.json asks for. */
const least = [22, 18] as const;

export const checkNode: Check = async ({ nodeVersion }) => {
  const about = 'node';
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const isNewEnough = major > least[0] || (major === least[0] && minor >= least[1]);
  if (isNewEnough) return [{ about, state: 'ok', text: `Node ${nodeVersion}` }];
  const text = `Node ${nodeVersion} is too old`;
  return [{ about, state: 'fail', text, advice: `Install Node ${least.join('.')} or later` }];
};
