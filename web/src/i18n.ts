// Every sentence of the page, in the three languages in which its users read their documentation.

export type Language = "en" | "ja" | "zh";
export const LANGUAGES: [Language, string][] = [["en", "English"], ["ja", "日本語"], ["zh", "中文"]];

const TABLE = {
  // viewer
  flame: ["Flame graph", "フレームグラフ", "火焰图"],
  tree: ["Call tree", "呼び出しツリー", "调用树"],
  top: ["Top", "トップ", "热点函数"],
  callers: ["Callers / callees", "呼び出し元・先", "调用者 / 被调用者"],
  graph: ["Graph", "グラフ", "调用图"],
  source: ["Source", "ソース", "源码"],
  difftable: ["Changes", "変化", "变化"],
  all: ["all", "すべて", "全部"],
  smaller: ["smaller frames", "小さなフレーム", "较小的帧"],
  sampleType: ["Sample type", "サンプル種別", "采样类型"],
  search: ["Search (regular expression)", "検索（正規表現）", "搜索（正则表达式）"],
  searchShort: ["Search", "検索", "搜索"],
  matched: ["{0} matched", "一致 {0}", "匹配 {0}"],
  clear: ["Clear", "クリア", "清除"],
  view: ["View", "表示", "视图"],
  export: ["Export", "エクスポート", "导出"],
  help: ["Keyboard", "キーボード", "快捷键"],
  direction: ["Direction", "向き", "方向"],
  icicle: ["Root at the top (icicle)", "ルートを上に（アイシクル）", "根在上方（冰柱）"],
  flames: ["Root at the bottom (flames)", "ルートを下に（フレーム）", "根在下方（火焰）"],
  flip: ["Turn upside down", "上下を反転", "上下翻转"],
  reverse: ["Reverse: leaves first", "逆順：末端から", "反向：从叶子开始"],
  collapse: ["Collapse recursion", "再帰をまとめる", "折叠递归"],
  order: ["Order", "並び順", "排序"],
  byWeight: ["Heaviest first", "重い順", "按权重"],
  byName: ["By name", "名前順", "按名称"],
  color: ["Colour by", "色分け", "着色"],
  colorPackage: ["Package", "パッケージ", "包"],
  colorKind: ["Kind of code", "コードの種類", "代码类型"],
  colorModule: ["Module", "モジュール", "模块"],
  colorWarm: ["Classic", "クラシック", "经典"],
  colorDiff: ["Change", "変化", "变化"],
  filters: ["Filters (regular expressions)", "フィルター（正規表現）", "过滤（正则表达式）"],
  focus: ["Only stacks with", "含むスタックのみ", "仅含此项的栈"],
  ignore: ["No stacks with", "含むスタックを除外", "排除含此项的栈"],
  hide: ["Hide frames", "フレームを隠す", "隐藏帧"],
  resetZoom: ["Reset zoom", "ズームを解除", "重置缩放"],
  total: ["Total", "合計", "总计"],
  self: ["Self", "自身", "自身"],
  ofAll: ["of all", "全体比", "占全部"],
  ofParent: ["of caller", "呼び出し元比", "占调用者"],
  function: ["Function", "関数", "函数"],
  file: ["File", "ファイル", "文件"],
  module: ["Module", "モジュール", "模块"],
  depth: ["Depth", "深さ", "深度"],
  samples: ["Samples", "サンプル数", "样本数"],
  functions: ["functions", "関数", "个函数"],
  frames: ["frames", "フレーム", "个帧"],
  deep: ["deep", "階層", "层"],
  duration: ["Duration", "期間", "时长"],
  base: ["Base", "基準", "基线"],
  now: ["New", "新", "新"],
  change: ["Change", "変化", "变化"],
  changeSelf: ["Change (self)", "変化（自身）", "变化（自身）"],
  width: ["Width shows", "幅の意味", "宽度表示"],
  widthMax: ["The larger of both", "大きい方", "两者较大值"],
  widthNew: ["New", "新", "新"],
  widthBase: ["Base", "基準", "基线"],
  widthChurn: ["The difference", "差", "差值"],
  normalize: ["Compare", "比較方法", "比较方式"],
  normRate: ["Per second and process", "毎秒・プロセスあたり", "每秒每进程"],
  normAbsolute: ["Absolute values", "絶対値", "绝对值"],
  normRelative: ["Shares of the whole", "全体に占める割合", "占比"],
  isNew: ["new", "新規", "新增"],
  isRemoved: ["removed", "消滅", "消失"],
  isChanged: ["changed", "変化あり", "有变化"],
  isNoise: ["within noise", "誤差の範囲", "噪声范围内"],
  legendMore: ["more", "増加", "增加"],
  legendLess: ["less", "減少", "减少"],
  show: ["Show", "表示", "显示"],
  zoomHere: ["Zoom here", "ここを拡大", "放大此处"],
  showCallers: ["Callers and callees", "呼び出し元と呼び出し先", "调用者与被调用者"],
  showInFlame: ["Show in flame graph", "フレームグラフで表示", "在火焰图中显示"],
  focusThis: ["Only stacks with this", "これを含むスタックのみ", "仅含此函数的栈"],
  ignoreThis: ["No stacks with this", "これを含むスタックを除外", "排除含此函数的栈"],
  hideThis: ["Hide these frames", "このフレームを隠す", "隐藏这些帧"],
  searchThis: ["Mark everywhere", "すべて強調", "全部标记"],
  showSource: ["Show source", "ソースを表示", "查看源码"],
  copyName: ["Copy name", "名前をコピー", "复制名称"],
  copied: ["Copied", "コピーしました", "已复制"],
  copyLink: ["Copy link", "リンクをコピー", "复制链接"],
  noSamples: ["This profile has no samples.", "このプロファイルにはサンプルがありません。", "此剖析文件没有样本。"],
  noSamplesHint: ["Nothing was running, or the profiler saw nothing, during the time it was taken. Collect a longer one, or another type.",
    "取得中に何も実行されていないか、何も観測されませんでした。より長く、または別の種別で取得してください。",
    "采集期间没有运行任何代码，或没有观察到样本。请采集更长时间或其他类型。"],
  noStacksLeft: ["No stack is left after the filters.", "フィルター後に残るスタックがありません。", "过滤后没有剩余的栈。"],
  typeIsZero: ["All values of this sample type are zero; choose another one.", "この種別の値はすべて 0 です。別の種別を選んでください。", "此采样类型的值全为零，请选择其他类型。"],
  pickFunction: ["Choose a function to see who calls it and what it calls.", "関数を選ぶと、呼び出し元と呼び出し先が表示されます。", "选择一个函数，查看谁调用它以及它调用谁。"],
  whoCalls: ["Callers", "呼び出し元", "调用者"],
  whatCalls: ["Callees", "呼び出し先", "被调用者"],
  badRegex: ["Not a regular expression; looking for the plain text.", "正規表現ではないため、文字列として検索します。", "不是正则表达式，按纯文本搜索。"],
  leftOut: ["{0} of the lightest frames are shown as sums.", "最も軽い {0} フレームは合計として表示しています。", "最轻的 {0} 个帧以合计显示。"],
  graphNodes: ["The {0} heaviest functions of {1}", "{1} 関数中、重い順に {0}", "{1} 个函数中最重的 {0} 个"],
  graphSize: ["How many functions", "関数の数", "函数数量"],
  graphOf: ["of", "／", "／"],
  graphMatched: ["{0} boxes", "{0} 件", "{0} 个"],
  graphIndirect: ["Frames between the two are not shown", "間のフレームは省略", "省略了中间的帧"],
  graphHelp: ["Call graph. Arrow keys follow calls, plus and minus zoom, 0 fits, Enter shows callers and callees. The table tab has the same functions as rows.",
    "コールグラフ。矢印キーで呼び出しをたどり、+ と - で拡大縮小、0 で全体表示、Enter で呼び出し元・先。同じ関数が表にもあります。",
    "调用图。方向键沿调用移动，加减号缩放，0 适应窗口，回车查看调用者与被调用者。表格标签页以行显示相同函数。"],
  zoomIn: ["Zoom in", "拡大", "放大"],
  zoomOut: ["Zoom out", "縮小", "缩小"],
  fit: ["Fit", "全体表示", "适应窗口"],
  treeHelp: ["Arrow keys move, Right and Left open and close, Enter shows the frame in the flame graph.", "矢印キーで移動、左右で開閉、Enter でフレームグラフに表示。", "方向键移动，左右键展开或收起，回车在火焰图中显示。"],
  flameHelp: ["Flame graph. Arrow keys move between frames, Enter zooms, Escape goes back, slash searches. The call tree tab has the same as a table.",
    "フレームグラフ。矢印キーでフレームを移動、Enter で拡大、Escape で戻る、/ で検索。同じ内容が呼び出しツリーにあります。",
    "火焰图。方向键在帧之间移动，回车放大，Esc 返回，/ 搜索。调用树标签页以表格显示相同内容。"],
  keyMove: ["Move to caller, callee, neighbour", "呼び出し元・先、隣へ移動", "移动到调用者、被调用者、相邻帧"],
  keyZoom: ["Zoom to the frame", "フレームを拡大", "放大该帧"],
  keyBack: ["Back one step; reset zoom", "一段戻る・ズーム解除", "返回一级；重置缩放"],
  keySearch: ["Search", "検索", "搜索"],
  keyNext: ["Next, previous match", "次・前の一致", "下一个、上一个匹配"],
  keyViews: ["The views in their order", "各ビューに切り替え", "按顺序切换视图"],
  keyFlip: ["Turn upside down", "上下を反転", "上下翻转"],
  keyReverse: ["Reverse", "逆順", "反向"],
  keyCollapse: ["Collapse recursion", "再帰をまとめる", "折叠递归"],
  keyCallers: ["Callers and callees of the frame", "フレームの呼び出し元・先", "该帧的调用者与被调用者"],
  keyCopy: ["Copy the name", "名前をコピー", "复制名称"],
  keyMenu: ["Everything for the frame", "フレームのメニュー", "该帧的菜单"],
  keyType: ["Next sample type", "次のサンプル種別", "下一个采样类型"],
  keyHelp: ["This list", "この一覧", "本列表"],
  keyWheel: ["Ctrl + wheel", "Ctrl + ホイール", "Ctrl + 滚轮"],
  keyWiden: ["Widen or narrow around the pointer", "ポインターを中心に拡大縮小", "以指针为中心缩放"],
  close: ["Close", "閉じる", "关闭"],
  language: ["Language", "言語", "语言"],
  theme: ["Light or dark", "ライト・ダーク", "浅色或深色"],
  kind_java: ["Java", "Java", "Java"],
  kind_cpp: ["C++", "C++", "C++"],
  kind_rust: ["Rust", "Rust", "Rust"],
  kind_go: ["Go", "Go", "Go"],
  kind_native: ["C", "C", "C"],
  kind_jvm: ["JVM", "JVM", "JVM"],
  kind_kernel: ["Kernel", "カーネル", "内核"],
  kind_python: ["Python", "Python", "Python"],
  kind_address: ["No symbol", "シンボルなし", "无符号"],
  kind_other: ["Other", "その他", "其他"],
} satisfies Record<string, [string, string, string]>;

export type Key = keyof typeof TABLE | keyof typeof import("./app/words").WORDS;

const tables: Record<string, readonly string[]>[] = [TABLE];
export function addWords(words: Record<string, readonly string[]>): void {
  tables.push(words);
}

let column = 0;
export let language: Language = "en";

export function chooseLanguage(wanted: string | null): void {
  const list = wanted ? [wanted] : navigator.languages ?? [navigator.language];
  for (const l of list) {
    const at = LANGUAGES.findIndex(([code]) => l.toLowerCase().startsWith(code));
    if (at >= 0) {
      column = at;
      break;
    }
  }
  language = LANGUAGES[column][0];
  document.documentElement.lang = language;
}

export function t(key: Key, ...values: (string | number)[]): string {
  for (const table of tables) {
    const row = table[key];
    if (row) return (row[column] ?? row[0]).replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
  }
  return key;
}
