import {
  answerReply,
  newGate,
  type ScriptedServer,
  type Step,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import type { Randomness } from '../randomness.ts';

/** Matches the name of a message of the chaos run. */
export const messagePattern: RegExp = /msg-\d+/g;

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: unknown;
}

/**
 * Starts a model that answers each message once. It streams slowly, so that hand-overs happen in the middle
 * of an answer. For every second message, it first runs a command that adds a line to a file.
 */
export function startSlowModel(random: Randomness): Promise<ScriptedServer> {
  return startScriptedServer((request) => {
    const { messages = [] } = request.body as {
      readonly messages?: readonly Message[];
    };
    const namesIn = (role: string) =>
      messages
        .filter((message) => message.role === role)
        .flatMap(({ content }) => JSON.stringify(content ?? '').match(messagePattern) ?? []);
    const done = new Set(namesIn('assistant').filter((name) => name !== ''));
    const open = [...new Set(namesIn('user'))].filter((name) => !done.has(name));
    const [first = ''] = open;
    const called = messages.flatMap(({ tool_calls }) => JSON.stringify(tool_calls ?? []));
    const wasCalled = called.some((calls) => calls.includes(`echo ${first} `));
    const usesTool = first !== '' && Number(first.slice(4)) % 2 === 0 && !wasCalled;
    const command = {
      name: 'bash',
      arguments: JSON.stringify({ command: `echo ${first} >> effects` }),
    };
    const answer = usesTool
      ? { text: 'I run a command first, slowly. ', toolCalls: [command] }
      : { text: `It takes a while, but then it is done: ${open.join(' ')}.` };
    const pieces = (whole: string) => whole.match(/\S+\s*/g) ?? [whole];
    const { steps, ...rest } = answerReply(answer, request, { pieces });
    const slow = steps.flatMap((step): readonly Step[] => {
      const gate = newGate();
      void gate.reached.then(() => setTimeout(() => gate.open(), random.between(5, 40)));
      return [step, { type: 'wait', for: gate }];
    });
    return { ...rest, steps: slow };
  });
}
