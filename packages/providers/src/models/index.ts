export type {
  ModelEffort,
  ModelInfo,
  ModelInput,
  ModelPrices,
  ModelTable,
  TierPrices,
  TokenPrices,
} from '../contract/model-info.ts';
export { costOf } from './cost-of.ts';
export { rowsFromLiteLlm } from './from-litellm.ts';
export { createModelTable, type ModelRows } from './model-table.ts';
export { joinTables, models } from './shipped-models.ts';
export { ModelTableError, readModelTable, writeModelTable } from './table-file.ts';
