import { createHash, createHmac } from 'node:crypto';
import type { JsonObject } from '@millrace/core';
import type { Row, Rows } from '../contract/rows.ts';
import { changeRow } from './row-access.ts';
import { toTokenRow } from './token-rows.ts';

/** Describes the current key of an agent. The agent's row contains it. */
export interface AgentKeyState {
  /** The number of earlier keys of the agent. */
  readonly generation: number;
  /** True if the key was revoked. The agent gets a new key when it registers again. */
  readonly isRevoked: boolean;
}

/** Reads the key state from the data of an agent's row. */
export function readKeyState({ key_generation, is_key_revoked }: JsonObject): AgentKeyState {
  const generation = typeof key_generation === 'number' ? key_generation : 0;
  return { generation, isRevoked: is_key_revoked === true };
}

/** Returns the fields of an agent's row that contain the key state. */
export function keyStateFields({ generation, isRevoked }: AgentKeyState) {
  return { key_generation: generation, is_key_revoked: isRevoked };
}

/**
 * Returns the key state after the agent registers. A revoked key is replaced by the next key. A valid key
 * stays.
 */
export function registeredKey({ generation, isRevoked }: AgentKeyState): AgentKeyState {
  return { generation: isRevoked ? generation + 1 : generation, isRevoked: false };
}

/** Stores that the agent's current key is permanently revoked. */
export async function markKeyRevoked(rows: Rows, agentId: string): Promise<void> {
  if ((await rows.get('agents', agentId)) === undefined) return;
  await changeRow(rows, 'agents', agentId, ({ keys, data }) => {
    const state = readKeyState(data);
    if (state.isRevoked) return undefined;
    return { keys, data: { ...data, ...keyStateFields({ ...state, isRevoked: true }) } };
  });
}

/**
 * The API keys of remote agents. The agent uses its key to call the server, and the server uses it to call
 * the agent. A key is derived from the server's secret, the agent's id and the generation. The key is not
 * stored, and it stays the same after a restart.
 */
export class AgentKeys {
  readonly #secret: string | Uint8Array;
  readonly #isGuarded: boolean;

  /** `isGuarded` is true if the server requires tokens. */
  constructor(secret: string | Uint8Array, isGuarded: boolean) {
    this.#secret = secret;
    this.#isGuarded = isGuarded;
  }

  /**
   * Returns the key of an agent. A server that requires no token derives different keys, because anyone can
   * request them there. These keys become invalid when the server later requires tokens.
   */
  keyOf(agentId: string, generation: number): string {
    const text = JSON.stringify(['agent key', this.#isGuarded, generation, agentId]);
    return `mr_${createHmac('sha256', this.#secret).update(text).digest('base64url')}`;
  }

  /**
   * Returns the token row that authenticates the key. It contains only a hash of the key. `issuerId` is the id
   * of the token that registered the agent.
   */
  tokenRow(
    agentId: string,
    generation: number,
    issuerId: string | null,
  ): Pick<Row, 'id' | 'keys' | 'data'> {
    const id = createHash('sha256').update(this.keyOf(agentId, generation)).digest('hex');
    return toTokenRow({
      ...{ id, scope: { kind: 'agent', agentId }, label: 'registered agent', issuerId },
      ...{ isReadOnly: false, expiresAt: null, isGuarded: this.#isGuarded, isAgentKey: true },
    });
  }
}
