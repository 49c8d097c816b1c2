// The program of docs/migrate/from-langchain.md before the migration. OPENAI_BASE_URL is the
// address of the model server. scripts/examples-langchain.full.test.ts sets it to the address of a
// scripted server.
import { MemorySaver } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

const retriever = {
  invoke: async (question: string) => [{ pageContent: `${question}: 30 days` }],
};
const searchHandbook = tool(
  async ({ question }) =>
    (await retriever.invoke(question)).map(({ pageContent }) => pageContent).join('\n'),
  {
    name: 'search_handbook',
    description: 'Searches the handbook of the company',
    schema: z.object({ question: z.string() }),
  },
);

const agent = createAgent({
  model: new ChatOpenAI({ model: 'gpt-5.1' }),
  tools: [searchHandbook],
  systemPrompt: 'You answer questions of employees.',
  checkpointer: new MemorySaver(),
});
const thread = { configurable: { thread_id: 'thread 42' } };
for (const content of ['How many holidays do I have?', 'Is that new?']) {
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] }, thread);
  console.log(messages.at(-1)?.content);
}
