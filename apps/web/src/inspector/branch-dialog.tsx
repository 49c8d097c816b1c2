import { modelsOf, type Task } from '@millrace/client';
import type { JsonObject } from '@millrace/core';
import { errorText } from '@millrace/react';
import { Button, Dialog } from '@millrace/react/controls';
import { type FormEvent, useState } from 'react';
import { useAccess, useApp, useListedTask } from '../app/app-context.ts';
import { navigate } from '../app/route.tsx';
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

/**
 * A dialog that continues a session from a record with a change. If the user selects several models, each
 * model gets a branch of its own.
 */
export function BranchDialog({ id, place, onClose }: BranchDialogProps) {
  const t = pageLabels();
  const app = useApp();
  // Only the operator can replace the instructions and the results of tools.
  const { canShare: isOperator } = useAccess();
  const agent = useListedTask(id)?.agents?.[0];
  const models = agent === undefined ? [] : modelsOf(agent);
  const [text, setText] = useState('');
  const [instructions, setInstructions] = useState('');
  const [result, setResult] = useState('');
  const [isAgain, setAgain] = useState(false);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { call } = place;
  const change: JsonObject = {
    at: place.offset,
    ...(text !== '' && { content: { type: 'text', author: 'user', content: text } }),
    ...(instructions !== '' && { instructions }),
    ...(call && result !== '' && { results: [{ tool_call_id: call.toolCallId, output: result }] }),
    ...(call && result === '' && isAgain && { rerun: [call.toolCallId] }),
  };
  const start = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const bodies = chosen.length === 0 ? [change] : chosen.map((model) => ({ ...change, model }));
      const made: Task[] = [];
      for (const body of bodies)
        made.push((await app.api.post(`/tasks/${encodeURIComponent(id)}/branch`, body)) as never);
      await app.directory.refresh();
      const [first, second] = made;
      // Two answers are shown side by side.
      if (first !== undefined && second !== undefined)
        navigate({ page: 'diff', id: second.id, other: first.id });
      else if (first !== undefined) navigate({ page: 'task', id: first.id });
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
        <label>
          {t.anotherMessage}
          <textarea rows={3} value={text} onChange={({ target }) => setText(target.value)} />
        </label>
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
          {t.startBranches(Math.max(1, chosen.length))}
        </Button>
      </form>
    </Dialog>
  );
}
