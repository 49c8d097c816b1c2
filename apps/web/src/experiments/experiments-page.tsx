import type { ComponentType } from 'react';
import { ExperimentListPage } from './experiment-list.tsx';
import { ExperimentPage } from './experiment-page.tsx';
import { loadExperimentLabels } from './labels/load-labels.ts';
import '../overview/overview.css';
import './experiments.css';

export interface ExperimentsPageProps {
  /** The experiment to show. Default: the list of all experiments. */
  readonly name: string | undefined;
  /** The parameters of the address, which say what is compared. */
  readonly query: string | undefined;
}

function ExperimentsPage({ name, query }: ExperimentsPageProps) {
  if (name === undefined) return <ExperimentListPage />;
  return <ExperimentPage key={name} {...{ name, query }} />;
}

/** Loads the texts of the pages about experiments in the language of the user, and returns the pages. */
export async function loadExperimentsPage(): Promise<ComponentType<ExperimentsPageProps>> {
  await loadExperimentLabels();
  return ExperimentsPage;
}
