/** Does nothing until its standard input ends; says "ready" first. */
public class Idle {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) { }
    }
}
