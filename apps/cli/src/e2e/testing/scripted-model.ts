import {
  answerReply,
  newGate,
  type ScriptedReply,
  type ScriptedServer,
  type ScriptGate,
  type Step,
  startScriptedServer,
  type WireToolCall,
} from '@millrace/providers/scripted-server';
import type { TestContext } from 'vitest';

/** A model. The test controls its answers and their timing. */
interface ScriptedModel {
  readonly server: ScriptedServer;
  /** Files for the test workspace. */
  readonly files: Readonly<Record<string, string>>;
  /** Environment variables for the terminal. */
  readonly env: Readonly<Record<string, string>>;
}

export async function scriptedModel({
  onTestFinished,
}: Pick<TestContext, 'onTestFinished'>): Promise<ScriptedModel> {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  const models = { test: { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` } };
  const config = JSON.stringify({ models });
  return {
    server,
    files: { 'home/.config/millrace/config.json': config },
    env: { MILLRACE_MODEL: 'test' },
  };
}

interface GatedAnswer {
  readonly reply: ScriptedReply;
  /** The gates between the passages. The test opens them. */
  readonly gates: readonly ScriptGate[];
}

/**
 * Returns an answer in passages. Each passage after the first one waits until the test opens its
 * gate.
 */
export function gatedAnswer(
  passages: readonly string[],
  toolCalls: readonly WireToolCall[] = [],
): GatedAnswer {
  const text = passages.join('');
  const pieces = (whole: string) => (whole === text ? passages : [whole]);
  const gates = passages.map(() => newGate());
  const reply: ScriptedReply = (request) => {
    const answer = { text, ...(toolCalls.length > 0 && { toolCalls }) };
    const { steps, ...rest } = answerReply(answer, request, { pieces });
    const waiting = steps.flatMap((step): readonly Step[] => {
      const index = passages.findIndex((passage) => containsPassage(step, passage));
      const gate = gates[index];
      return gate === undefined ? [step] : [step, { type: 'wait', for: gate }];
    });
    return { ...rest, steps: waiting };
  };
  return { reply, gates };
}

function containsPassage(step: Step, passage: string): boolean {
  if (typeof step !== 'string' && !(step instanceof Uint8Array)) return false;
  return Buffer.from(step).includes(JSON.stringify(passage));
}
