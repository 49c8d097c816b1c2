import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { ruleFromText } from '../config/rule-text.ts';
import { testAgent } from '../testing/test-agent.ts';

// The user denies a tool whose name does not exist. The model can use the tool that the user meant.

const provider = scriptedProvider([]);

/** Builds an agent with rules that deny these tools. Returns its messages for the user. */
async function problemsOf(...texts: readonly string[]) {
  const rules = texts.map((text) => ruleFromText(text, 'deny'));
  const mcpServers = [{ name: 'orders', stdio: { command: 'millrace-missing-program' } }];
  const { problems } = await testAgent({
    ...{ provider, config: { permissions: { mode: 'ask', rules }, mcpServers } },
  });
  return problems;
}

test.each([
  ['raed', 'read'],
  ['reads', 'read'],
  ['wirte', 'write'],
  ['web_ftech', 'web_fetch'],
  ['Tasks', 'task'],
])('18.634: attack: a rule that denies %s protects nothing', async (name, meant) => {
  await expect(problemsOf(name)).rejects.toThrow(
    `Cannot use the rule "${name}" (deny): there is no tool ${name}, so the rule protects nothing. Did you mean ${meant}?`,
  );
});

test('18.634: attack: a rule that denies a tool with another name protects nothing', async () => {
  expect(await problemsOf('execute', 'wbe_fethc', 'execute')).toEqual([
    expect.stringMatching(
      /^The rule "execute" \(deny\) has no effect: there is no tool execute.* The tools are bash, read, /,
    ),
    expect.stringContaining('Did you mean web_fetch?'),
  ]);
});

test('18.634: a rule for a tool that can exist has no message', async () => {
  const names = ['orders_raed', 'github_delete', 'raed*', '*', '*:.env', 'bash+network', 'skill'];
  expect(await problemsOf(...names)).toEqual([]);
});
