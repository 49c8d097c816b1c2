import { cachedPercent, type Usage } from '@millrace/core';
import { totalOf, type UsageRow } from './overview-rows.ts';

/** A table of usage by agent and model. */
export function UsageTable({ rows }: { readonly rows: readonly UsageRow[] }) {
  const total = totalOf(rows);
  return (
    <section className="overview-card" aria-labelledby="overview-usage">
      <h2 id="overview-usage">Usage and cost</h2>
      {total === undefined ? (
        <p className="overview-none">
          No usage was recorded. Agents that use the Millrace loop report usage automatically; other
          agents may not.
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll
        <section className="overview-scroll" aria-label="Usage by agent and model" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col">Model</th>
                <th scope="col">Sessions</th>
                <th scope="col">Requests</th>
                <th scope="col">Input</th>
                <th scope="col">From cache</th>
                <th scope="col">Output</th>
                <th scope="col">Cost</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row key={`${row.agent} ${row.provider} ${row.model}`} {...row} />
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row" colSpan={4}>
                  All
                </th>
                <Numbers usage={total} />
              </tr>
            </tfoot>
          </table>
        </section>
      )}
    </section>
  );
}

function Row({ agent, provider, model, tasks, attempts, usage }: UsageRow) {
  return (
    <tr>
      <th scope="row">{agent}</th>
      <td>
        {model ?? 'unknown model'} {provider !== undefined && <small>{provider}</small>}
      </td>
      <td>{count(tasks)}</td>
      <td>{count(attempts)}</td>
      <Numbers usage={usage} />
    </tr>
  );
}

function Numbers({ usage }: { readonly usage: Usage }) {
  const { input, output, costs, estimated } = usage;
  const share = cachedPercent(usage);
  return (
    <>
      <td>{count(input)}</td>
      <td>{share === undefined ? '–' : `${share} %`}</td>
      <td>{count(output)}</td>
      <td title={estimated ? 'Partly estimated' : undefined}>
        {costs.length === 0
          ? 'not reported'
          : costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' + ')}
        {estimated && costs.length > 0 && ' ≈'}
      </td>
    </>
  );
}

function count(value: number): string {
  return value.toLocaleString('en');
}
