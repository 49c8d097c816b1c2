import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { childEnv } from '../../../../core/src/testing/runs.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { isPythonMissing, pythonIn, pythonScript } from '../../testing/python-programs.ts';

/** Answers by the last message, as scripts/python-clients/openai_clients.py expects it. */
const answer: ScriptEntry = ({ items }) => {
  const last = items.at(-1);
  const text = last?.parts.map((part) => ('text' in part ? part.text : '')).join('') ?? '';
  if (last?.kind === 'tool') return `It is ${text}.`;
  if (text.includes('weather')) return toolCall('weather', { town: 'Bath' });
  return text.includes('json') ? '{"town":"Bath"}' : 'Hello there.';
};

/** Runs a suite of clients. Returns the outcome of each check by its name. */
async function outcomes(suite: string): Promise<Readonly<Record<string, unknown>>> {
  const { url } = await serveOpenAi(Array.from({ length: 100 }, () => answer));
  const { stdout } = await promisify(execFile)(
    pythonIn('clients'),
    [pythonScript('openai_clients.py'), suite],
    {
      // LiteLLM downloads prices without the last variable.
      env: {
        ...childEnv(),
        ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'none' },
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
    },
  );
  return Object.fromEntries(
    stdout
      .split('\n')
      .filter((line) => line.startsWith('['))
      .map((line) => JSON.parse(line)),
  );
}

const hello = 'Hello there.';

test.skipIf(isPythonMissing('clients'))('24.3: the openai SDK for Python', async () => {
  expect(await outcomes('openai')).toEqual({
    'openai: models': ['helper'],
    'openai: response': hello,
    'openai: response as a stream': [hello, hello],
    'openai: parsed response': 'Bath',
    'openai: tools with previous_response_id': 'It is sunny.',
    'openai: tools with the whole history': 'It is sunny.',
    'openai: fork and input items': [true, ['Hi', hello, 'Other']],
    'openai: delete': 'invalid_request_error',
    'openai: background': 'response.completed',
    'openai: items of a conversation': ['assistant', 'user'],
    'openai: chat completion': hello,
    'openai: chat completion as a stream': hello,
    'openai: error of a model': ['model_not_found', 'model', 'invalid_request_error'],
    'openai: error of a field': ['invalid_value', 'n', 'invalid_request_error'],
    // A session belongs to an agent, and a new conversation names none. Agents do not count tokens.
    'openai: new conversation': 404,
    'openai: count of tokens': 405,
  });
});

test.skipIf(isPythonMissing('clients'))('24.3: LiteLLM', async () => {
  expect(await outcomes('litellm')).toEqual({
    'litellm: chat completion': hello,
    'litellm: chat completion as a stream': hello,
    'litellm: tools': 'It is sunny.',
    'litellm: tools in a stream': ['weather', '{"town":"Bath"}'],
    'litellm: json_object': '{"town":"Bath"}',
    'litellm: response': hello,
    'litellm: response as a stream': 'response.completed',
    'litellm: get, input items and delete': ['completed', 1, true],
    'litellm: error': 404,
  });
});

test.skipIf(isPythonMissing('clients'))('24.3: LangChain with both APIs', async () => {
  const expected = (name: string) => ({
    [`${name}: text`]: hello,
    [`${name}: stream`]: [hello, hello],
    [`${name}: tools`]: 'It is sunny.',
    [`${name}: tools in a stream`]: [['weather', { town: 'Bath' }]],
    [`${name}: structured output`]: ['Bath', 'Bath'],
    [`${name}: error`]: 'model_not_found',
  });
  expect(await outcomes('langchain')).toEqual({
    ...expected('langchain chat'),
    ...expected('langchain responses'),
  });
});
