import { type AgentInfo, modelsOf } from '@millrace/client';
import { readStored, tabStorage, writeStored } from '@millrace/react/storage';
import { type ReactNode, useState } from 'react';
import { pageLabels } from '../../languages/page-labels.ts';
import './model-choice.css';

/** Stores the model of the last message of a session, for this tab. */
export function rememberModel(session: string, model: string | undefined): void {
  writeStored(tabStorage, `model ${session}`, model);
}

/**
 * Returns the model for the next message, and the field in which the user changes it. The model is
 * undefined and there is no field if the agent has fewer than two models.
 */
export function useModelChoice(
  agent: AgentInfo | undefined,
  session: string,
): readonly [string | undefined, ReactNode] {
  const t = pageLabels();
  const models = agent === undefined ? [] : modelsOf(agent);
  const [choice, setChoice] = useState<readonly [session: string, model: string]>();
  const last = choice?.[0] === session ? choice[1] : readStored(tabStorage, `model ${session}`);
  const model = models.find((one) => one === last) ?? models[0];
  if (models.length < 2) return [undefined, null];
  const choose = (chosen: string) => {
    rememberModel(session, chosen);
    setChoice([session, chosen]);
  };
  const field = (
    <select
      className="model-choice"
      aria-label={t.model}
      value={model}
      onChange={({ target }) => choose(target.value)}
    >
      {models.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
  return [model, field];
}
