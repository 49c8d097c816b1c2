// An agent that breaks the rules of ACP. The test controls it with the text of the prompt.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const sessionId = 's-1';
const key = process.env['MY_LOGIN'];

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function say(update: object): void {
  write({ method: 'session/update', params: { sessionId, update } });
}

const call = { sessionUpdate: 'tool_call_update', toolCallId: 'c1', kind: 'execute' };

function askFor(toolCallId: string): void {
  const options = [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }];
  const params = { sessionId, toolCall: { toolCallId }, options };
  write({ id: 'ask', method: 'session/request_permission', params });
}

const results: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
  'session/new': { sessionId },
  'session/load': {},
};

function prompt(id: number, text: string): void {
  const end = () => write({ id, result: { stopReason: 'end_turn' } });
  switch (text) {
    case 'work':
      say({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'Work', status: 'in_progress' });
      say({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' });
      return;
    case 'repeat the key': {
      const about = { toolCallId: `c-${key}`, title: `Pay ${key}`, name: `pay ${key}` };
      say({ sessionUpdate: 'tool_call', ...about, status: 'in_progress' });
      say({ sessionUpdate: 'tool_call_update', ...about, status: 'completed' });
      return end();
    }
    case 'growing input':
      // The agent reports the input of its call piece by piece, and then asks with the id only.
      say({ ...call, sessionUpdate: 'tool_call', title: 'ls', rawInput: { command: 'ls' } });
      say({ ...call, title: 'ls; rm x', rawInput: { command: 'ls; rm x' } });
      return askFor(call.toolCallId);
    case 'no input':
      say({ ...call, sessionUpdate: 'tool_call', title: 'Terminal', status: 'in_progress' });
      return askFor(call.toolCallId);
    case 'malformed':
      return write({ id, error: { code: {}, message: { toString: 1 } } });
    case 'error':
      return write({ id, error: { code: 1, message: `The key ${key} is invalid` } });
    case 'exit':
      process.stderr.write(`The key ${key} is invalid\n`, () => process.exit(3));
      return;
    default:
      say({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Hi' } });
      end();
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'session/prompt') prompt(id, params.prompt.at(-1).text);
  else if (method === 'session/cancel') writeFileSync('cancelled', '');
  else write({ id, result: results[method] ?? null });
});
