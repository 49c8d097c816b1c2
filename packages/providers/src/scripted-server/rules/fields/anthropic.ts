import type { FieldTable } from './field-faults.ts';

/** The request fields of @anthropic-ai/sdk 1.8.0. Written by scripts/wire-fields.ts. */
export const anthropicFields: FieldTable = {
  Body: 'cache_control?:BetaCacheControlEphemeral|null compaction?:BetaCompactionConfig|null container?:BetaContainerParams|null|str context_management?:BetaContextManagementConfig|null diagnostics?:BetaDiagnosticsParam|null fallback_credit_token?:BetaFallbackCreditTokenParam|null|str fallbacks?:"default"|BetaFallbackParam[]|null inference_geo?:null|str max_tokens:num mcp_servers?:BetaRequestMCPServerURLDefinition[] messages:BetaMessageParam[] metadata?:BetaMetadata model:str output_config?:BetaOutputConfig output_format?:BetaJSONOutputFormat|null service_tier?:"auto"|"standard_only" speed?:"fast"|"standard"|null stop_sequences?:str[] stream?:bool system?:BetaTextBlockParam[]|str thinking?:BetaThinkingConfigAdaptive|BetaThinkingConfigBetweenTools|BetaThinkingConfigDisabled|BetaThinkingConfigEnabled thread?:BetaThreadContinueParams|BetaThreadCreateParams|null tool_choice?:BetaToolChoiceAny|BetaToolChoiceAuto|BetaToolChoiceNone|BetaToolChoiceTool tools?:BetaToolUnion[]',
  BetaMessageParam: '= BetaAssistantMessageParam|BetaSystemMessageParam|BetaUserMessageParam',
  BetaAssistantMessageParam: 'content:BetaContentBlockParam[]|str role:"assistant"',
  BetaContentBlockParam:
    '= BetaAdvisorToolResultBlockParam|BetaBashCodeExecutionToolResultBlockParam|BetaCodeExecutionToolResultBlockParam|BetaCompactionBlockParam|BetaContainerUploadBlockParam|BetaFallbackBlockParam|BetaImageBlockParam|BetaMCPToolListingBlockParam|BetaMCPToolUseBlockParam|BetaRedactedThinkingBlockParam|BetaRequestDocumentBlock|BetaRequestMCPToolResultBlockParam|BetaRequestToolAdditionBlock|BetaRequestToolRemovalBlock|BetaSearchResultBlockParam|BetaServerToolUseBlockParam|BetaTextBlockParam|BetaTextEditorCodeExecutionToolResultBlockParam|BetaThinkingBlockParam|BetaToolResultBlockParam|BetaToolSearchToolResultBlockParam|BetaToolUseBlockParam|BetaWebFetchToolResultBlockParam|BetaWebSearchToolResultBlockParam',
  BetaAdvisorToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content:BetaAdvisorRedactedResultBlockParam|BetaAdvisorResultBlockParam|BetaAdvisorToolResultErrorParam tool_use_id:str type:"advisor_tool_result"',
  BetaAdvisorRedactedResultBlockParam:
    'encrypted_content:str stop_reason?:null|str type:"advisor_redacted_result"',
  BetaAdvisorResultBlockParam: 'stop_reason?:null|str text:str type:"advisor_result"',
  BetaAdvisorToolResultErrorParam:
    'error_code:"execution_time_exceeded"|"max_uses_exceeded"|"model_not_found"|"overloaded"|"prompt_too_long"|"too_many_requests"|"unavailable" type:"advisor_tool_result_error"',
  BetaCacheControlEphemeral: 'ttl?:"1h"|"5m" type:"ephemeral"',
  BetaBashCodeExecutionToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content:BetaBashCodeExecutionResultBlockParam|BetaBashCodeExecutionToolResultErrorParam tool_use_id:str type:"bash_code_execution_tool_result"',
  BetaBashCodeExecutionResultBlockParam:
    'content:BetaBashCodeExecutionOutputBlockParam[] return_code:num stderr:str stdout:str type:"bash_code_execution_result"',
  BetaBashCodeExecutionOutputBlockParam: 'file_id:str type:"bash_code_execution_output"',
  BetaBashCodeExecutionToolResultErrorParam:
    'error_code:"execution_time_exceeded"|"invalid_tool_input"|"output_file_too_large"|"too_many_requests"|"unavailable" type:"bash_code_execution_tool_result_error"',
  BetaCodeExecutionToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content:BetaCodeExecutionToolResultBlockParamContent tool_use_id:str type:"code_execution_tool_result"',
  BetaCodeExecutionToolResultBlockParamContent:
    '= BetaCodeExecutionResultBlockParam|BetaCodeExecutionToolResultErrorParam|BetaEncryptedCodeExecutionResultBlockParam',
  BetaCodeExecutionResultBlockParam:
    'content:BetaCodeExecutionOutputBlockParam[] return_code:num stderr:str stdout:str type:"code_execution_result"',
  BetaCodeExecutionOutputBlockParam: 'file_id:str type:"code_execution_output"',
  BetaCodeExecutionToolResultErrorParam:
    'error_code:"execution_time_exceeded"|"invalid_tool_input"|"too_many_requests"|"unavailable" type:"code_execution_tool_result_error"',
  BetaEncryptedCodeExecutionResultBlockParam:
    'content:BetaCodeExecutionOutputBlockParam[] encrypted_stdout:str return_code:num stderr:str type:"encrypted_code_execution_result"',
  BetaCompactionBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content?:null|str encrypted_content?:null|str signature?:null|str tool_changes?:BetaRequestToolAdditionBlock[]|BetaRequestToolRemovalBlock[]|null type:"compaction"',
  BetaRequestToolAdditionBlock:
    'cache_control?:BetaCacheControlEphemeral|null tool:BetaToolChangeMCPToolReference|BetaToolChangeMCPToolsetReference|BetaToolChangeToolDefinitionParam|BetaToolChangeToolReference type:"tool_addition"',
  BetaToolChangeMCPToolReference: 'name:str server_name:str type:"mcp_tool_reference"',
  BetaToolChangeMCPToolsetReference: 'server_name:str type:"mcp_toolset_reference"',
  BetaToolChangeToolDefinitionParam: 'definition:BetaToolUnion type:"tool_definition"',
  BetaToolUnion:
    '= BetaAdvisorTool20260301|BetaBrowserToolset20260801|BetaCodeExecutionTool20250522|BetaCodeExecutionTool20250825|BetaCodeExecutionTool20260120|BetaCodeExecutionTool20260521|BetaComputerToolset20260801|BetaMCPToolset|BetaMemoryTool20250818|BetaTool|BetaToolBash20241022|BetaToolBash20250124|BetaToolComputerUse20241022|BetaToolComputerUse20250124|BetaToolComputerUse20251124|BetaToolSearchToolBm25_20251119|BetaToolSearchToolRegex20251119|BetaToolTextEditor20241022|BetaToolTextEditor20250124|BetaToolTextEditor20250429|BetaToolTextEditor20250728|BetaWebFetchTool20250910|BetaWebFetchTool20260209|BetaWebFetchTool20260309|BetaWebFetchTool20260318|BetaWebSearchTool20250305|BetaWebSearchTool20260209|BetaWebSearchTool20260318',
  BetaAdvisorTool20260301:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null caching?:BetaCacheControlEphemeral|null defer_loading?:bool max_tokens?:null|num max_uses?:null|num model:str name:"advisor" strict?:bool type:"advisor_20260301"',
  BetaBrowserToolset20260801:
    'cache_control?:BetaCacheControlEphemeral|null configs?:BetaBrowserToolsetConfigs|null type:"browser_toolset_20260801"',
  BetaBrowserToolsetConfigs:
    'close_tab?:BetaBrowserCloseTabConfig|null double_click?:BetaBrowserDoubleClickConfig|null file_upload?:BetaBrowserFileUploadConfig|null find?:BetaBrowserFindConfig|null form_input?:BetaBrowserFormInputConfig|null get_page_text?:BetaBrowserGetPageTextConfig|null hold_key?:BetaBrowserHoldKeyConfig|null hover?:BetaBrowserHoverConfig|null javascript_exec?:BetaBrowserJavascriptExecConfig|null key?:BetaBrowserKeyConfig|null left_click?:BetaBrowserLeftClickConfig|null left_click_drag?:BetaBrowserLeftClickDragConfig|null left_mouse_down?:BetaBrowserLeftMouseDownConfig|null left_mouse_up?:BetaBrowserLeftMouseUpConfig|null list_tabs?:BetaBrowserListTabsConfig|null middle_click?:BetaBrowserMiddleClickConfig|null mouse_move?:BetaBrowserMouseMoveConfig|null navigate?:BetaBrowserNavigateConfig|null new_tab?:BetaBrowserNewTabConfig|null read_console?:BetaBrowserReadConsoleConfig|null read_network?:BetaBrowserReadNetworkConfig|null read_page?:BetaBrowserReadPageConfig|null right_click?:BetaBrowserRightClickConfig|null screenshot?:BetaBrowserScreenshotConfig|null scroll?:BetaBrowserScrollConfig|null scroll_to?:BetaBrowserScrollToConfig|null switch_tab?:BetaBrowserSwitchTabConfig|null triple_click?:BetaBrowserTripleClickConfig|null type?:BetaBrowserTypeConfig|null wait?:BetaBrowserWaitConfig|null zoom?:BetaBrowserZoomConfig|null',
  BetaBrowserCloseTabConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserDoubleClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserFileUploadConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserFindConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserFormInputConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserGetPageTextConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserHoldKeyConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserHoverConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserJavascriptExecConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserKeyConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserLeftClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserLeftClickDragConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserLeftMouseDownConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserLeftMouseUpConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserListTabsConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserMiddleClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserMouseMoveConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserNavigateConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserNewTabConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserReadConsoleConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserReadNetworkConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserReadPageConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserRightClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserScreenshotConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserScrollConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserScrollToConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserSwitchTabConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserTripleClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserTypeConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserWaitConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaBrowserZoomConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaCodeExecutionTool20250522:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool name:"code_execution" strict?:bool type:"code_execution_20250522"',
  BetaCodeExecutionTool20250825:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool name:"code_execution" strict?:bool type:"code_execution_20250825"',
  BetaCodeExecutionTool20260120:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool name:"code_execution" strict?:bool type:"code_execution_20260120"',
  BetaCodeExecutionTool20260521:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool name:"code_execution" strict?:bool type:"code_execution_20260521"',
  BetaComputerToolset20260801:
    'cache_control?:BetaCacheControlEphemeral|null configs?:BetaComputerToolsetConfigs|null type:"computer_toolset_20260801"',
  BetaComputerToolsetConfigs:
    'cursor_position?:BetaComputerCursorPositionConfig|null double_click?:BetaComputerDoubleClickConfig|null hold_key?:BetaComputerHoldKeyConfig|null key?:BetaComputerKeyConfig|null left_click?:BetaComputerLeftClickConfig|null left_click_drag?:BetaComputerLeftClickDragConfig|null left_mouse_down?:BetaComputerLeftMouseDownConfig|null left_mouse_up?:BetaComputerLeftMouseUpConfig|null middle_click?:BetaComputerMiddleClickConfig|null mouse_move?:BetaComputerMouseMoveConfig|null right_click?:BetaComputerRightClickConfig|null screenshot?:BetaComputerScreenshotConfig|null scroll?:BetaComputerScrollConfig|null triple_click?:BetaComputerTripleClickConfig|null type?:BetaComputerTypeConfig|null wait?:BetaComputerWaitConfig|null zoom?:BetaComputerZoomConfig|null',
  BetaComputerCursorPositionConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerDoubleClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerHoldKeyConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerKeyConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerLeftClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerLeftClickDragConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerLeftMouseDownConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerLeftMouseUpConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerMiddleClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerMouseMoveConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerRightClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerScreenshotConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerScrollConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerTripleClickConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerTypeConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerWaitConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaComputerZoomConfig: 'defer_loading?:bool|null enabled?:bool|null',
  BetaMCPToolset:
    'cache_control?:BetaCacheControlEphemeral|null configs?:any default_config?:BetaMCPToolDefaultConfig mcp_server_name:str tools?:BetaMCPToolParam[]|null type:"mcp_toolset"',
  BetaMCPToolDefaultConfig: 'defer_loading?:bool enabled?:bool',
  BetaMCPToolParam: 'description?:null|str input_schema:any name:str',
  BetaMemoryTool20250818:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] name:"memory" strict?:bool type:"memory_20250818"',
  BetaTool:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool description?:str eager_input_streaming?:bool|null input_examples?:any[] input_schema:InputSchema name:str strict?:bool type?:"custom"|null',
  InputSchema: 'properties?:any required?:null|str[] type:"object" *',
  BetaToolBash20241022:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] name:"bash" strict?:bool type:"bash_20241022"',
  BetaToolBash20250124:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] name:"bash" strict?:bool type:"bash_20250124"',
  BetaToolComputerUse20241022:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool display_height_px:num display_number?:null|num display_width_px:num input_examples?:any[] name:"computer" strict?:bool type:"computer_20241022"',
  BetaToolComputerUse20250124:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool display_height_px:num display_number?:null|num display_width_px:num input_examples?:any[] name:"computer" strict?:bool type:"computer_20250124"',
  BetaToolComputerUse20251124:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool display_height_px:num display_number?:null|num display_width_px:num enable_zoom?:bool input_examples?:any[] name:"computer" strict?:bool type:"computer_20251124"',
  BetaToolSearchToolBm25_20251119:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool name:"tool_search_tool_bm25" strict?:bool type:"tool_search_tool_bm25"|"tool_search_tool_bm25_20251119"',
  BetaToolSearchToolRegex20251119:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool name:"tool_search_tool_regex" strict?:bool type:"tool_search_tool_regex"|"tool_search_tool_regex_20251119"',
  BetaToolTextEditor20241022:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] name:"str_replace_editor" strict?:bool type:"text_editor_20241022"',
  BetaToolTextEditor20250124:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] name:"str_replace_editor" strict?:bool type:"text_editor_20250124"',
  BetaToolTextEditor20250429:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] name:"str_replace_based_edit_tool" strict?:bool type:"text_editor_20250429"',
  BetaToolTextEditor20250728:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool input_examples?:any[] max_characters?:null|num name:"str_replace_based_edit_tool" strict?:bool type:"text_editor_20250728"',
  BetaWebFetchTool20250910:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null citations?:BetaCitationsConfigParam|null defer_loading?:bool max_content_tokens?:null|num max_uses?:null|num name:"web_fetch" strict?:bool type:"web_fetch_20250910" url_sources?:BetaWebFetchURLSources|null',
  BetaCitationsConfigParam: 'enabled?:bool',
  BetaWebFetchURLSources:
    'client_tool_results?:BetaWebFetchURLSourceAll|BetaWebFetchURLSourceExcept|BetaWebFetchURLSourceNone|BetaWebFetchURLSourceOnly server_tool_results?:BetaWebFetchURLSourceAll|BetaWebFetchURLSourceExcept|BetaWebFetchURLSourceNone|BetaWebFetchURLSourceOnly user_input?:BetaWebFetchURLSourceAll|BetaWebFetchURLSourceNone',
  BetaWebFetchURLSourceAll: 'type:"all"',
  BetaWebFetchURLSourceExcept: 'tools:BetaWebFetchURLSourceToolReference[] type:"except"',
  BetaWebFetchURLSourceToolReference: 'name:str type:"tool_reference"',
  BetaWebFetchURLSourceNone: 'type:"none"',
  BetaWebFetchURLSourceOnly: 'tools:BetaWebFetchURLSourceToolReference[] type:"only"',
  BetaWebFetchTool20260209:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null citations?:BetaCitationsConfigParam|null defer_loading?:bool max_content_tokens?:null|num max_uses?:null|num name:"web_fetch" strict?:bool type:"web_fetch_20260209" url_sources?:BetaWebFetchURLSources|null',
  BetaWebFetchTool20260309:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null citations?:BetaCitationsConfigParam|null defer_loading?:bool max_content_tokens?:null|num max_uses?:null|num name:"web_fetch" strict?:bool type:"web_fetch_20260309" url_sources?:BetaWebFetchURLSources|null use_cache?:bool',
  BetaWebFetchTool20260318:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null citations?:BetaCitationsConfigParam|null defer_loading?:bool max_content_tokens?:null|num max_uses?:null|num name:"web_fetch" response_inclusion?:"excluded"|"full" strict?:bool type:"web_fetch_20260318" url_sources?:BetaWebFetchURLSources|null use_cache?:bool',
  BetaWebSearchTool20250305:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool max_uses?:null|num name:"web_search" strict?:bool type:"web_search_20250305" user_location?:BetaUserLocation|null',
  BetaUserLocation:
    'city?:null|str country?:null|str region?:null|str timezone?:null|str type:"approximate"',
  BetaWebSearchTool20260209:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool max_uses?:null|num name:"web_search" strict?:bool type:"web_search_20260209" user_location?:BetaUserLocation|null',
  BetaWebSearchTool20260318:
    'allowed_callers?:"code_execution_20250825"[]|"code_execution_20260120"[]|"code_execution_20260521"[]|"direct"[] allowed_domains?:null|str[] blocked_domains?:null|str[] cache_control?:BetaCacheControlEphemeral|null defer_loading?:bool max_uses?:null|num name:"web_search" response_inclusion?:"excluded"|"full" strict?:bool type:"web_search_20260318" user_location?:BetaUserLocation|null',
  BetaToolChangeToolReference: 'name:str type:"tool_reference"',
  BetaRequestToolRemovalBlock:
    'cache_control?:BetaCacheControlEphemeral|null tool:BetaToolChangeMCPToolReference|BetaToolChangeMCPToolsetReference|BetaToolChangeToolReference type:"tool_removal"',
  BetaContainerUploadBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null file_id:str type:"container_upload"',
  BetaFallbackBlockParam:
    'from:BetaFallbackInfoParam to:BetaFallbackInfoParam trigger?:any type:"fallback"',
  BetaFallbackInfoParam: 'model:str',
  BetaImageBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null source:BetaBase64ImageSource|BetaFileImageSource|BetaURLImageSource transformations?:BetaImageTransformationsParam|null type:"image"',
  BetaBase64ImageSource:
    'data:str media_type:"image/gif"|"image/jpeg"|"image/png"|"image/webp" type:"base64"',
  BetaFileImageSource: 'file_id:str type:"file"',
  BetaURLImageSource: 'type:"url" url:str',
  BetaImageTransformationsParam: 'oversized_image?:"downsize"|"error"',
  BetaMCPToolListingBlockParam:
    'mcp_server_name:str tools:BetaMCPToolParam[] type:"mcp_tool_listing"',
  BetaMCPToolUseBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null id:str input:any name:str server_name:str type:"mcp_tool_use"',
  BetaRedactedThinkingBlockParam: 'data:str type:"redacted_thinking"',
  BetaRequestDocumentBlock:
    'cache_control?:BetaCacheControlEphemeral|null citations?:BetaCitationsConfigParam|null context?:null|str source:BetaBase64PDFSource|BetaContentBlockSource|BetaFileDocumentSource|BetaPlainTextSource|BetaURLPDFSource title?:null|str type:"document"',
  BetaBase64PDFSource: 'data:str media_type:"application/pdf" type:"base64"',
  BetaContentBlockSource: 'content:BetaImageBlockParam[]|BetaTextBlockParam[]|str type:"content"',
  BetaTextBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null citations?:BetaTextCitationParam[]|null text:str type:"text"',
  BetaTextCitationParam:
    '= BetaCitationCharLocationParam|BetaCitationContentBlockLocationParam|BetaCitationPageLocationParam|BetaCitationSearchResultLocationParam|BetaCitationWebSearchResultLocationParam',
  BetaCitationCharLocationParam:
    'cited_text:str document_index:num document_title:null|str end_char_index:num start_char_index:num type:"char_location"',
  BetaCitationContentBlockLocationParam:
    'cited_text:str document_index:num document_title:null|str end_block_index:num start_block_index:num type:"content_block_location"',
  BetaCitationPageLocationParam:
    'cited_text:str document_index:num document_title:null|str end_page_number:num start_page_number:num type:"page_location"',
  BetaCitationSearchResultLocationParam:
    'cited_text:str end_block_index:num search_result_index:num source:str start_block_index:num title:null|str type:"search_result_location"',
  BetaCitationWebSearchResultLocationParam:
    'cited_text:str encrypted_index:str title:null|str type:"web_search_result_location" url:str',
  BetaFileDocumentSource: 'file_id:str type:"file"',
  BetaPlainTextSource: 'data:str media_type:"text/plain" type:"text"',
  BetaURLPDFSource: 'type:"url" url:str',
  BetaRequestMCPToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content?:BetaTextBlockParam[]|str is_error?:bool tool_use_id:str type:"mcp_tool_result"',
  BetaSearchResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null citations?:BetaCitationsConfigParam content:BetaTextBlockParam[] source:str title:str type:"search_result"',
  BetaServerToolUseBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null caller?:BetaDirectCaller|BetaServerToolCaller|BetaServerToolCaller20260120 id:str input:any name:"advisor"|"bash_code_execution"|"code_execution"|"text_editor_code_execution"|"tool_search_tool_bm25"|"tool_search_tool_regex"|"web_fetch"|"web_search" type:"server_tool_use"',
  BetaDirectCaller: 'type:"direct"',
  BetaServerToolCaller: 'tool_id:str type:"code_execution_20250825"',
  BetaServerToolCaller20260120: 'tool_id:str type:"code_execution_20260120"',
  BetaTextEditorCodeExecutionToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content:BetaTextEditorCodeExecutionCreateResultBlockParam|BetaTextEditorCodeExecutionStrReplaceResultBlockParam|BetaTextEditorCodeExecutionToolResultErrorParam|BetaTextEditorCodeExecutionViewResultBlockParam tool_use_id:str type:"text_editor_code_execution_tool_result"',
  BetaTextEditorCodeExecutionCreateResultBlockParam:
    'is_file_update:bool type:"text_editor_code_execution_create_result"',
  BetaTextEditorCodeExecutionStrReplaceResultBlockParam:
    'lines?:null|str[] new_lines?:null|num new_start?:null|num old_lines?:null|num old_start?:null|num type:"text_editor_code_execution_str_replace_result"',
  BetaTextEditorCodeExecutionToolResultErrorParam:
    'error_code:"execution_time_exceeded"|"file_not_found"|"invalid_tool_input"|"too_many_requests"|"unavailable" error_message?:null|str type:"text_editor_code_execution_tool_result_error"',
  BetaTextEditorCodeExecutionViewResultBlockParam:
    'content:str file_type:"image"|"pdf"|"text" num_lines?:null|num start_line?:null|num total_lines?:null|num type:"text_editor_code_execution_view_result"',
  BetaThinkingBlockParam: 'signature:str thinking:str type:"thinking"',
  BetaToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content?:BetaBrowserStateBlockParam[]|BetaImageBlockParam[]|BetaRequestDocumentBlock[]|BetaSearchResultBlockParam[]|BetaTextBlockParam[]|BetaToolReferenceBlockParam[]|str is_error?:bool tool_use_id:str toolset_name?:null|str type:"tool_result"',
  BetaBrowserStateBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null state_changes?:BetaBrowserStateChange[]|null tabs:BetaBrowserStateTabEntry[] type:"browser_state"',
  BetaBrowserStateTabEntry: 'active?:bool tab_id:str title:str url:str',
  BetaBrowserStateChange:
    '= BetaBrowserStateChangeDownloadCompleted|BetaBrowserStateChangeDownloadFailed|BetaBrowserStateChangeDownloadStarted|BetaBrowserStateChangeTabOpened',
  BetaBrowserStateChangeDownloadCompleted:
    'download_id:str path?:null|str size_bytes?:null|num type:"download_completed" url:str',
  BetaBrowserStateChangeDownloadFailed:
    'download_id:str error?:null|str type:"download_failed" url:str',
  BetaBrowserStateChangeDownloadStarted: 'download_id:str type:"download_started" url:str',
  BetaBrowserStateChangeTabOpened: 'tab_id:str type:"tab_opened"',
  BetaToolReferenceBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null tool_name:str type:"tool_reference"',
  BetaToolSearchToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null content:BetaToolSearchToolResultErrorParam|BetaToolSearchToolSearchResultBlockParam tool_use_id:str type:"tool_search_tool_result"',
  BetaToolSearchToolResultErrorParam:
    'error_code:"execution_time_exceeded"|"invalid_tool_input"|"too_many_requests"|"unavailable" error_message?:null|str type:"tool_search_tool_result_error"',
  BetaToolSearchToolSearchResultBlockParam:
    'tool_references:BetaToolReferenceBlockParam[] type:"tool_search_tool_search_result"',
  BetaToolUseBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null caller?:BetaDirectCaller|BetaServerToolCaller|BetaServerToolCaller20260120 id:str input:any name:str toolset_name?:null|str type:"tool_use"',
  BetaWebFetchToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null caller?:BetaDirectCaller|BetaServerToolCaller|BetaServerToolCaller20260120 content:BetaWebFetchBlockParam|BetaWebFetchToolResultErrorBlockParam tool_use_id:str type:"web_fetch_tool_result"',
  BetaWebFetchBlockParam:
    'content:BetaRequestDocumentBlock retrieved_at?:null|str type:"web_fetch_result" url:str',
  BetaWebFetchToolResultErrorBlockParam:
    'error_code:"content_too_large"|"invalid_tool_input"|"max_uses_exceeded"|"too_many_requests"|"unavailable"|"unsupported_content_type"|"url_not_accessible"|"url_not_allowed"|"url_not_in_prior_context"|"url_too_long" type:"web_fetch_tool_result_error"',
  BetaWebSearchToolResultBlockParam:
    'cache_control?:BetaCacheControlEphemeral|null caller?:BetaDirectCaller|BetaServerToolCaller|BetaServerToolCaller20260120 content:BetaWebSearchResultBlockParam[]|BetaWebSearchToolRequestError tool_use_id:str type:"web_search_tool_result"',
  BetaWebSearchResultBlockParam:
    'encrypted_content:str page_age?:null|str title:str type:"web_search_result" url:str',
  BetaWebSearchToolRequestError:
    'error_code:"invalid_tool_input"|"max_uses_exceeded"|"query_too_long"|"request_too_large"|"too_many_requests"|"unavailable" type:"web_search_tool_result_error"',
  BetaSystemMessageParam:
    'clear_at?:"never"|"next_user_message"|null content?:BetaRequestToolAdditionBlock[]|BetaRequestToolRemovalBlock[]|BetaTextBlockParam[]|str output_config?:BetaSystemMessageOutputConfig|null role:"system"',
  BetaSystemMessageOutputConfig: 'effort?:"high"|"low"|"max"|"medium"|"xhigh"|null',
  BetaUserMessageParam: 'content:BetaContentBlockParam[]|str role:"user"',
  BetaCompactionConfig: 'instructions?:null|str type:"summarize"',
  BetaContainerParams: 'id?:null|str skills?:BetaSkillParams[]|null',
  BetaSkillParams: 'skill_id:str type:"anthropic"|"custom" version?:str',
  BetaContextManagementConfig:
    'edits?:BetaClearThinking20251015Edit[]|BetaClearToolUses20250919Edit[]|BetaCompact20260112Edit[]',
  BetaClearThinking20251015Edit:
    'keep?:"all"|BetaAllThinkingTurns|BetaThinkingTurns type:"clear_thinking_20251015"',
  BetaAllThinkingTurns: 'type:"all"',
  BetaThinkingTurns: 'type:"thinking_turns" value:num',
  BetaClearToolUses20250919Edit:
    'clear_at_least?:BetaInputTokensClearAtLeast|null clear_tool_inputs?:bool|null|str[] exclude_tools?:null|str[] keep?:BetaToolUsesKeep trigger?:BetaInputTokensTrigger|BetaToolUsesTrigger type:"clear_tool_uses_20250919"',
  BetaInputTokensClearAtLeast: 'type:"input_tokens" value:num',
  BetaToolUsesKeep: 'type:"tool_uses" value:num',
  BetaInputTokensTrigger: 'type:"input_tokens" value:num',
  BetaToolUsesTrigger: 'type:"tool_uses" value:num',
  BetaCompact20260112Edit:
    'instructions?:null|str pause_after_compaction?:bool trigger?:BetaInputTokensTrigger|null type:"compact_20260112"',
  BetaDiagnosticsParam: 'previous_message_id?:null|str',
  BetaFallbackCreditTokenParam: 'mode?:"best_effort"|"strict" token:str',
  BetaFallbackParam:
    'max_tokens?:null|num model:str output_config?:BetaOutputConfig|null speed?:"fast"|"standard"|null thinking?:BetaThinkingConfigAdaptive|BetaThinkingConfigBetweenTools|BetaThinkingConfigDisabled|BetaThinkingConfigEnabled|null *',
  BetaOutputConfig:
    'effort?:"high"|"low"|"max"|"medium"|"xhigh"|null format?:BetaJSONOutputFormat|null task_budget?:BetaTokenTaskBudget|null',
  BetaJSONOutputFormat: 'schema:any type:"json_schema"',
  BetaTokenTaskBudget: 'remaining?:null|num total:num type:"tokens"',
  BetaThinkingConfigAdaptive:
    'block_binding?:BetaThinkingBlockBinding|null display?:"omitted"|"summarized"|"updates"|null type:"adaptive"',
  BetaThinkingBlockBinding: 'prefix_mismatch_behavior?:"drop_block"|"error"|null',
  BetaThinkingConfigBetweenTools: 'type:"between_tools"',
  BetaThinkingConfigDisabled: 'type:"disabled"',
  BetaThinkingConfigEnabled:
    'block_binding?:BetaThinkingBlockBinding|null budget_tokens:num display?:"omitted"|"summarized"|"updates"|null type:"enabled"',
  BetaRequestMCPServerURLDefinition:
    'authorization_token?:null|str name:str tool_configuration?:BetaRequestMCPServerToolConfiguration|null type:"url" url:str',
  BetaRequestMCPServerToolConfiguration: 'allowed_tools?:null|str[] enabled?:bool|null',
  BetaMetadata: 'user_id?:null|str',
  BetaThreadContinueParams: 'previous_message_id:str type:"continue"',
  BetaThreadCreateParams: 'type:"create"',
  BetaToolChoiceAny: 'disable_parallel_tool_use?:bool type:"any"',
  BetaToolChoiceAuto: 'disable_parallel_tool_use?:bool type:"auto"',
  BetaToolChoiceNone: 'type:"none"',
  BetaToolChoiceTool: 'disable_parallel_tool_use?:bool name:str type:"tool"',
};
