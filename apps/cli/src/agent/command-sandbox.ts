import { findSandbox, type Sandbox } from '@millrace/tools';
import type { SandboxConfig } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';

/** What protects the user from commands. */
export interface Protection {
  readonly sandbox: Sandbox | undefined;
  /** One sentence for the user. */
  readonly summary: string;
  /** How to get a sandbox, if there is none. */
  readonly advice?: string | undefined;
}

/**
 * Opens the sandbox that the configuration asks for. Without a sandbox on this system, commands are
 * not confined; if the user asked for one, this throws a `ConfigError`.
 */
export async function openSandbox(
  config: SandboxConfig | undefined,
  find: typeof findSandbox = findSandbox,
): Promise<Protection> {
  if (config === undefined || config.profile === 'off')
    return { sandbox: undefined, summary: 'Commands are not confined: the sandbox is off.' };
  const { profile, network, unixSockets, writable, hide, isRequired } = config;
  const protect = ['millrace.json'];
  const found = await find({ profile, network, unixSockets, writable, hide, protect });
  const { sandbox } = found;
  if (sandbox !== undefined) return { sandbox, summary: summaryOf(sandbox) };
  if (isRequired) {
    const message = `Cannot confine commands: ${found.reason}. ${found.advice}. Or use --sandbox off`;
    throw new ConfigError(message, { name: 'sandbox' });
  }
  const summary = `Commands are not confined: ${found.reason}.`;
  return { sandbox, summary, advice: found.advice };
}

function summaryOf({ profile, network }: Sandbox): string {
  const changes = profile === 'workspace' ? 'only this folder' : 'nothing';
  return `Commands run in a sandbox: they can change ${changes}${network ? '' : ', without network'}.`;
}
