import type { AgentInfo } from '@millrace/client';
import { type ComposedMessage, Composer, Filled } from '@millrace/react';
import { Button, ClockIcon, ShieldIcon, Skeleton, TimelineIcon } from '@millrace/react/controls';
import { readStored, sharedStorage, writeStored } from '@millrace/react/storage';
import { type RefObject, useMemo, useRef, useState } from 'react';
import { rememberModel, useModelChoice } from '../chat/composer/model-choice.tsx';
import { outboxFullText } from '../chat/composer/outbox.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import { type App, useApp, useDirectory } from './app-context.ts';
import { navigate, routeOf } from './route.tsx';
import { setTaskTitle } from './task-text.ts';
import './new-page.css';

/** The page that starts a session: the user selects an agent and writes the first message. */
export function NewPage({ agent: asked }: { readonly agent: string | undefined }) {
  const t = pageLabels();
  const app = useApp();
  const { agents: all, tasks, isLoaded, error } = useDirectory();
  const agents = useMemo(() => all.filter(takesMessages).toSorted(byKind), [all]);
  const [isSending, setSending] = useState(false);
  const preferredAgent = asked ?? readStored(sharedStorage, 'agent');
  const chosen = agents.find(({ name }) => name === preferredAgent) ?? agents[0];
  const [model, modelChoice] = useModelChoice(chosen, 'new');
  // The session of a message whose upload failed. The next try uses it instead of a new session.
  const started = useRef<StartedSession>(undefined);
  const send = async (message: ComposedMessage) => {
    if (chosen === undefined) return;
    setSending(true);
    try {
      await startSession(app, chosen, { ...message, model }, started);
    } finally {
      setSending(false);
    }
  };
  return (
    <main className="new-page">
      <header className="chat-header new-head">
        <SidebarButton />
      </header>
      <div className="new-main">
        <h1>{t.newSessionQuestion}</h1>
        {!isLoaded && error === undefined && (
          <Skeleton label={t.loadingTheAgents} bars={['block', 'block']} />
        )}
        {agents.length > 0 && <AgentChoice agents={agents} chosen={chosen} />}
        {isLoaded && agents.length === 0 && <NoAgents />}
        {error !== undefined && error.code !== 'unauthorized' && (
          <p className="composer-error" role="alert">
            {error.message}{' '}
            <Button size="small" onClick={() => void app.directory.refresh()}>
              {t.tryAgain}
            </Button>
          </p>
        )}
        {chosen !== undefined && (
          <Composer
            focusKey={chosen.name}
            draftKey="new"
            placeholder={t.messageTo(chosen.name)}
            isBusy={isSending}
            onSend={send}
          >
            {modelChoice}
          </Composer>
        )}
        {isLoaded && chosen !== undefined && tasks.length === 0 && <Lessons />}
      </div>
    </main>
  );
}

/** Returns false for an agent that offers an empty list of tools. Such an agent only runs the calls of apps. */
function takesMessages({ registration_metadata }: AgentInfo): boolean {
  const tools = registration_metadata?.['tools'];
  return !Array.isArray(tools) || tools.length > 0;
}

/** Compares two agents for sorting. Agents that support steering and approvals come first. */
function byKind(a: AgentInfo, b: AgentInfo): number {
  return Number(isLoop(b)) - Number(isLoop(a)) || a.name.localeCompare(b.name);
}

function isLoop({ registration_metadata }: AgentInfo): boolean {
  return registration_metadata?.['kind'] === 'loop';
}

/** A session that exists already, although its first message is not sent yet. */
interface StartedSession {
  readonly id: string;
  readonly agent: string;
}

async function startSession(
  { client, sources, api, outbox, directory }: App,
  agent: AgentInfo,
  { text, upload, model }: ComposedMessage & { readonly model: string | undefined },
  started: RefObject<StartedSession | undefined>,
) {
  writeStored(sharedStorage, 'agent', agent.name);
  if (started.current?.agent !== agent.name)
    started.current = { ...(await client.createTask({ agent: agent.name })), agent: agent.name };
  const { id } = started.current;
  const attachments = await upload(sources.get(id).handle);
  await setTaskTitle(api, id, text || (attachments[0]?.name ?? ''));
  if (!outbox.add(id, text, 'follow_up', attachments, model)) throw new Error(outboxFullText());
  rememberModel(id, model);
  started.current = undefined;
  // If the user opened a different page in the meantime, the app does not leave that page.
  if (routeOf(location.href).page === 'new') navigate({ page: 'task', id });
  void directory.refresh();
}

interface AgentChoiceProps {
  readonly agents: readonly AgentInfo[];
  readonly chosen: AgentInfo | undefined;
}

function AgentChoice({ agents, chosen }: AgentChoiceProps) {
  const t = pageLabels();
  return (
    <fieldset className="agents">
      <legend className="unseen">{t.agent}</legend>
      {agents.map((agent) => (
        <label key={agent.id} className="agent">
          <input
            type="radio"
            name="agent"
            checked={agent.name === chosen?.name}
            onChange={() => navigate({ page: 'new', agent: agent.name }, { replace: true })}
          />
          <span className="agent-name">
            {agent.name}
            {agent.status !== 'Ready' && <span className="status">{agent.status}</span>}
          </span>
          <span className="agent-words">{agent.description}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Shows a new user examples of what a session can do. */
function Lessons() {
  const t = pageLabels();
  return (
    <ul className="lessons" aria-label={t.sessionAbilities}>
      <li>
        <strong>
          <ClockIcon /> {t.itRunsWithoutYou}
        </strong>
        {t.runsWithoutYouText}
      </li>
      <li>
        <strong>
          <ShieldIcon /> {t.itAsksFirst}
        </strong>
        {t.asksFirstText}
      </li>
      <li>
        <strong>
          <TimelineIcon /> {t.itCanBeRewound}
        </strong>
        {t.canBeRewoundText}
      </li>
    </ul>
  );
}

function NoAgents() {
  return (
    <p className="new-words">
      <Filled
        text={pageLabels().noAgents}
        parts={[<code key="command">millrace serve --agents agents.ts</code>]}
      />
    </p>
  );
}
