import type { SessionId } from '@millrace/core';
import type { Agent } from '../create-agent.ts';
import { settingsOf } from '../run/agent-settings.ts';
import { type Claim, claimSession } from './claim.ts';

export interface HoldStepOptions {
  readonly session: SessionId;
  readonly claim: Claim;
}

/** Takes a session before anything is said in it. Throws `held` where somebody else drives it. */
export async function holdStep(agent: Agent, { session, claim }: HoldStepOptions): Promise<void> {
  const driver = await claimSession(settingsOf(agent).log, session, claim, 0);
  driver.leave();
}
