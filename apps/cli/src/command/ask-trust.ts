import type { Config, Untrusted } from '../config/config.ts';
import { askPerson } from './ask-person.ts';
import type { Host } from './host.ts';

const harm: Readonly<Record<string, string>> = {
  models: 'say where requests and keys are sent',
  mcpServers: 'start programs',
  store: 'say where sessions are kept',
  'permissions.allow': 'let tools run without asking',
  'permissions.mode': 'let tools do more than your own configuration does',
  limits: 'go beyond your own limits',
};

/** Whether all of a project's file is to be taken, as a person decides; undefined where they leave instead. */
export async function isTrustGiven(
  { untrusted }: Pick<Config, 'untrusted'>,
  host: Pick<Host, 'stdin' | 'stdout' | 'signal'>,
): Promise<boolean | undefined> {
  if (untrusted === undefined) return false;
  const answer = await askPerson(host, questionOn(untrusted));
  return answer === undefined ? undefined : /^y(es)?$/i.test(answer.trim());
}

function questionOn({ path, parts }: Untrusted): string {
  const wants = parts.map((part) => `  - ${harm[part] ?? part} (${part})\n`).join('');
  return `${path} wants to:\n${wants}Anybody's project can have such a file. Take all of it?\nIt is asked again when that changes. [y/N] `;
}
