import { cachedPercent, type Usage } from '@millrace/core';
import { pageLabels } from '../languages/page-labels.ts';
import { totalOf, type UsageRow } from './overview-rows.ts';

/** A table of usage by agent and model. */
export function UsageTable({ rows }: { readonly rows: readonly UsageRow[] }) {
  const t = pageLabels();
  const total = totalOf(rows);
  return (
    <section className="overview-card" aria-labelledby="overview-usage">
      <h2 id="overview-usage">{t.usageAndCost}</h2>
      {total === undefined ? (
        <p className="overview-none">{t.noUsage}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll
        <section className="overview-scroll" aria-label={t.usageTable} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.agent}</th>
                <th scope="col">{t.model}</th>
                <th scope="col">{t.sessions}</th>
                <th scope="col">{t.requests}</th>
                <th scope="col">{t.input}</th>
                <th scope="col">{t.fromCache}</th>
                <th scope="col">{t.output}</th>
                <th scope="col">{t.cost}</th>
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
                  {t.all}
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
        {model ?? pageLabels().unknownModel} {provider !== undefined && <small>{provider}</small>}
      </td>
      <td>{count(tasks)}</td>
      <td>{count(attempts)}</td>
      <Numbers usage={usage} />
    </tr>
  );
}

function Numbers({ usage }: { readonly usage: Usage }) {
  const t = pageLabels();
  const { input, output, costs, estimated } = usage;
  const share = cachedPercent(usage);
  return (
    <>
      <td>{count(input)}</td>
      <td>{share === undefined ? '–' : `${share} %`}</td>
      <td>{count(output)}</td>
      <td title={estimated ? t.partlyEstimated : undefined}>
        {costs.length === 0
          ? t.notReported
          : costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' + ')}
        {estimated && costs.length > 0 && ' ≈'}
      </td>
    </>
  );
}

function count(value: number): string {
  return value.toLocaleString(pageLabels().locale);
}
