import { createHash, createHmac } from 'node:crypto';
import type { Row } from '../contract/rows.ts';

/**
 * The keys of remote agents: what they say to us, and we to them. A key follows from the server's
 * secret and the agent's id, so that it can be said after a restart and is kept nowhere.
 */
export class AgentKeys {
  readonly #secret: string | Uint8Array;

  constructor(secret: string | Uint8Array) {
    this.#secret = secret;
  }

  keyOf(agentId: string): string {
    return `mr_${createHmac('sha256', this.#secret).update(`agent ${agentId}`).digest('base64url')}`;
  }

  /** By which whoever comes with the key is known: its hash alone. */
  tokenRow(agentId: string): Pick<Row, 'id' | 'keys' | 'data'> {
    const id = createHash('sha256').update(this.keyOf(agentId)).digest('hex');
    const scope = { kind: 'agent', agentId };
    return { id, keys: { agent_id: agentId }, data: { scope, label: 'registered agent' } };
  }
}
