import { modelsOf, type Task } from '@millrace/client';
import type { JsonObject } from '@millrace/core';
import { errorText } from '@millrace/react';
import { Button, Dialog } from '@millrace/react/controls';
import { type FormEvent, useState } from 'react';
import { useAccess, useApp, useListedTask } from '../app/app-context.ts';
import { navigate } from '../app/route.tsx';
import { setTaskTitle } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import '../app/forms.css';

/** The record from which a branch continues. */
export interface BranchPlace {
  readonly offset: number;
  /** The call that the record belongs to. Undefined if it belongs to no call. */
  readonly call: { readonly toolCallId: string; readonly name: string } | undefined;
}

interface BranchDialogProps {
  readonly id: string;
  readonly place: BranchPlace;
  readonly onClose: () => void;
}

/** Maximum number of branches that start at once. */
const maxBranches = 6;

/**
 * A dialog that continues a session from a record with a change. Each selected model and each message gets a
 * branch of its own. Several branches are shown side by side.
 */
export function BranchDialog({ id, place, onClose }: BranchDialogProps) {
  const t = pageLabels();
  const app = useApp();
  // Only the operator can replace the instructions and the results of tools.
  const { canShare: isOperator } = useAccess();
  const agent = useListedTask(id)?.agents?.[0];
  const models = agent === undefined ? [] : modelsOf(agent);
  const [texts, setTexts] = useState<readonly string[]>(['']);
  const [instructions, setInstructions] = useState('');
  const [result, setResult] = useState('');
  const [isAgain, setAgain] = useState(false);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { call } = place;
  const change: JsonObject = {
    at: place.offset,
    ...(instructions !== '' && { instructions }),
    ...(call && result !== '' && { results: [{ tool_call_id: call.toolCallId, output: result }] }),
    ...(call && result === '' && isAgain && { rerun: [call.toolCallId] }),
  };
  const given = texts.filter((text) => text.trim() !== '');
  const branches = (given.length === 0 ? [undefined] : given)
    .flatMap((text) =>
      (chosen.length === 0 ? [undefined] : chosen).map((model) => ({ text, model })),
    )
    .slice(0, maxBranches);
  const start = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const made: string[] = [];
      for (const { text, model } of branches) {
        const content = { type: 'text', author: 'user', content: text ?? '' };
        const body = { ...change, ...(text && { content }), ...(model && { model }) };
        const task = await app.api.post(`/tasks/${encodeURIComponent(id)}/branch`, body);
        made.push((task as unknown as Task).id);
      }
      const [first, ...others] = made;
      // The name of a branch says how it differs from the other branches.
      if (others.length > 0)
        await Promise.all(
          branches.map(({ text, model }, at) => {
            const names = [given.length > 1 && text, chosen.length > 1 && model].filter(Boolean);
            return setTaskTitle(app.api, made[at] ?? '', names.join(' · '));
          }),
        );
      await app.directory.refresh();
      if (others.length > 0) navigate({ page: 'branches', id, shown: made });
      else if (first !== undefined) navigate({ page: 'task', id: first });
      onClose();
    } catch (reason) {
      setError(errorText(reason, t));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isBusy) void start();
  };
  return (
    <Dialog title={t.branchFromRecord(place.offset)} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p>{t.branchMeaning}</p>
        {texts.map((text, at) => (
          // The fields have no identity besides their place, and none is removed.
          // biome-ignore lint/suspicious/noArrayIndexKey: the place is the identity
          <label key={at}>
            {t.anotherMessage}
            <textarea
              rows={texts.length === 1 ? 3 : 2}
              value={text}
              onChange={({ target }) => setTexts(texts.with(at, target.value))}
            />
          </label>
        ))}
        {texts.length < maxBranches && (
          <Button size="small" look="quiet" onClick={() => setTexts([...texts, ''])}>
            {t.addMessage}
          </Button>
        )}
        {call !== undefined && isOperator && (
          <label>
            {t.anotherResult(call.name)}
            <textarea rows={2} value={result} onChange={({ target }) => setResult(target.value)} />
          </label>
        )}
        {call !== undefined && (
          <label className="form-check">
            <input
              type="checkbox"
              checked={isAgain && result === ''}
              disabled={result !== ''}
              onChange={({ target }) => setAgain(target.checked)}
            />
            {t.runAgain(call.name)}
          </label>
        )}
        {isOperator && (
          <label>
            {t.otherInstructions}
            <textarea
              rows={2}
              value={instructions}
              onChange={({ target }) => setInstructions(target.value)}
            />
          </label>
        )}
        {models.length > 1 && (
          <fieldset className="form-models">
            <legend>{t.otherModels}</legend>
            {models.map((model) => (
              <label key={model} className="form-check">
                <input
                  type="checkbox"
                  checked={chosen.includes(model)}
                  onChange={({ target }) =>
                    setChosen(
                      models.filter((one) =>
                        one === model ? target.checked : chosen.includes(one),
                      ),
                    )
                  }
                />
                {model}
              </label>
            ))}
          </fieldset>
        )}
        {error !== undefined && <p role="alert">{error}</p>}
        <Button look="main" type="submit" disabled={isBusy}>
          {t.startBranches(branches.length)}
        </Button>
      </form>
    </Dialog>
  );
}
