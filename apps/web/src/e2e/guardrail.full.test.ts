import {
  createAgent,
  defineTool,
  inputGuardrail,
  outputGuardrail,
  toolGuardrail,
} from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { builtPage } from './testing/built-page.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back',
  input: z.object({ euros: z.number() }),
  execute: async ({ euros }) => `Paid ${euros} € back.`,
});

/** Serves an agent whose guardrails ask for approval of unusual inputs, calls and answers. */
async function startGuardedServer(whileAsking: 'wait' | 'park') {
  const log = memoryLog();
  const ask = (reason: string) => ({ verdict: 'ask', reason }) as const;
  const agent = createAgent({
    name: 'desk',
    log,
    tools: [refund],
    whileAsking,
    provider: scriptedProvider(
      Array.from({ length: 50 }, () => ({ items }) => {
        const last = JSON.stringify(items.at(-1));
        if (last.includes('Paid')) return 'It is paid.';
        return last.includes('refund') ? toolCall('refund', { euros: 25 }) : 'An odd answer.';
      }),
    ),
    guardrails: [
      inputGuardrail({
        name: 'careful-input',
        check: ({ text }) => (text.includes('odd input') ? ask('The question is odd') : 'pass'),
      }),
      toolGuardrail({
        name: 'careful-call',
        tools: [refund],
        check: () => ask('It is much money'),
      }),
      outputGuardrail({
        name: 'careful-answer',
        check: ({ text }) => (text.includes('odd') ? ask('The answer is odd') : 'pass'),
      }),
    ],
  });
  const server = createServer({
    ...{ tokens: 'none', log, page: builtPage() },
    agents: [{ type: 'loop', name: 'desk', description: 'Answers customers', agent }],
  });
  const { url } = await server.listen({ port: 0 });
  const close = async () => {
    await server.close();
    await log.close();
  };
  return { url, close };
}

describeInChromium()('20: the question of a guardrail', () => {
  describe.each(['wait', 'park'] as const)('with whileAsking: %s', (whileAsking) => {
    const harness = useBrowserHarnessFor(() => startGuardedServer(whileAsking));

    const card = ({ page }: ChatTab, name: string) =>
      page.getByRole('region', { name: `Allow ${name}?` });
    const button = (tab: ChatTab, name: string, label: string) =>
      card(tab, name).getByRole('button', { name: label, exact: true });

    async function open(message: string, name: string, reason: string): Promise<ChatTab> {
      const tab = await (await harness.visitor()).tab();
      await tab.send(message);
      await card(tab, name).getByText(reason).waitFor();
      return tab;
    }

    test('about an input is shown with the input, and the answer to it comes after Allow', async () => {
      const tab = await open('An odd input about refunds', 'careful-input', 'The question is odd');
      await card(tab, 'careful-input').getByText('An odd input about refunds').waitFor();
      await card(tab, 'careful-input').getByText('asked by guardrail careful-input').waitFor();
      await button(tab, 'careful-input', 'Allow').click();
      // The model calls the refund tool, and the next guardrail asks about this call.
      await card(tab, 'refund').getByText('It is much money').waitFor();
      await button(tab, 'refund', 'Allow').click();
      await tab.waitForText('It is paid.');
    });

    test('about an input ends the run after Deny, and the page says so', async () => {
      const tab = await open('An odd input', 'careful-input', 'The question is odd');
      await button(tab, 'careful-input', 'Deny').click();
      await card(tab, 'careful-input').getByRole('textbox', { name: 'Reason' }).fill('No jokes');
      await button(tab, 'careful-input', 'Deny').click();
      await tab.page.getByText('A guardrail stopped the agent').waitFor();
      expect(await tab.page.getByText('An odd answer.').count()).toBe(0);
    });

    test('about an answer can be answered, and offers no change that nobody would use', async () => {
      const tab = await open('Hello', 'careful-answer', 'The answer is odd');
      const labels = await card(tab, 'careful-answer').getByRole('button').allInnerTexts();
      expect(labels.filter((label) => /change/i.test(label))).toEqual([]);
      await button(tab, 'careful-answer', 'Allow').click();
      await card(tab, 'careful-answer').waitFor({ state: 'detached' });
      await tab.waitForText('An odd answer.');
    });
  });
});
